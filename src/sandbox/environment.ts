/**
 * Which variables a command gets: those on a list, and nothing else of what the server has.
 *
 * @module
 */

/** What may be passed on. None of these holds a secret, and none of these makes a program load code. */
export const PASSED_VARIABLES: readonly string[] = [
  "PATH",
  "LANG",
  "LANGUAGE",
  "LC_ALL",
  "LC_CTYPE",
  "LC_MESSAGES",
  "LC_COLLATE",
  "LC_NUMERIC",
  "LC_TIME",
  "TZ",
  "TERM",
  "NO_COLOR",
];

/**
 * Where programs are looked for when the host says nothing, and always for scripts of ours: the server's own PATH may hold a folder
 * that commands can write.
 */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/**
 * The variables of a command. `HOME` and `TMPDIR` are /tmp, so that settings and credentials of the person who runs the
 * server are not picked up by the way.
 *
 * @param host reads one variable of the server
 * @param added what the policy adds; it wins
 * @throws {TypeError} for a name or a value that is no variable
 *
 * @example
 * ```ts
 * import { environmentOf } from "./environment.ts";
 *
 * const found = environmentOf((name) => name === "PATH" ? "/bin" : "secret", { CI: "1" });
 * if (found.PATH !== "/bin" || found.CI !== "1" || "API_KEY" in found) throw new Error("unreachable");
 * ```
 */
export function environmentOf(
  host: (name: string) => string | undefined,
  added: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const found: Record<string, string> = { PATH: SYSTEM_PATH };
  for (const name of PASSED_VARIABLES) {
    const value = host(name);
    if (value !== undefined && value !== "" && !value.includes("\0")) found[name] = value;
  }
  Object.assign(found, { HOME: "/tmp", TMPDIR: "/tmp" });
  for (const [name, value] of Object.entries(added)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || typeof value !== "string" || value.includes("\0")) {
      throw new TypeError(`Cannot set variable "${name}": its name or its value is none of a variable`);
    }
    found[name] = value;
  }
  return Object.freeze(found);
}

/**
 * Reads a variable of the server. One that it may not read is one that no command gets.
 *
 * @example
 * ```ts
 * import { systemVariable } from "./environment.ts";
 *
 * if (systemVariable("HOLDFAST_NO_SUCH_VARIABLE") !== undefined) throw new Error("unreachable");
 * ```
 */
export function systemVariable(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined;
  }
}
