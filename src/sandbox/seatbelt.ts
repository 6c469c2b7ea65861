/**
 * Seatbelt, the sandbox of macOS. Its profile is made and checked here as text; whether it holds is measured on a Mac by the
 * same probe as everywhere, before the first command.
 *
 * @module
 */
import type { ResolvedPolicy } from "./policy.ts";
import { PROTECTED_NAMES } from "./protected_paths.ts";
import { measuredGaps, type SandboxProvider } from "./provider.ts";

/**
 * Makes the provider for Seatbelt.
 *
 * @param userTmp the temporary folder of the user, canonical (`/private/var/folders/…`)
 *
 * @example
 * ```ts
 * import { seatbelt } from "./seatbelt.ts";
 *
 * if (seatbelt("/private/var/folders/x/T").name !== "seatbelt") throw new Error("unreachable");
 * ```
 */
export function seatbelt(userTmp: string | null = null): SandboxProvider {
  return {
    name: "seatbelt",
    denialSignatures: ["operation not permitted"],
    ownTasks: 1,
    hasSocketFilter: true,
    countsOwnProcesses: false,
    wrap: (argv, policy) => ({
      argv: ["/usr/bin/sandbox-exec", "-p", seatbeltProfile(policy, userTmp), "--", ...argv],
      input: null,
      holdsInput: false,
      environment: policy.environment,
    }),
    gaps: measuredGaps,
  };
}

/**
 * The profile. Everything is allowed but writing, and in `workspace-write` writing to the workspace and the temporary folders.
 * The last rule that matches wins, so what is protected comes last; here that holds for names that are not there yet too.
 *
 * @example
 * ```ts
 * import { seatbeltProfile } from "./seatbelt.ts";
 * import type { ResolvedPolicy } from "./policy.ts";
 *
 * function isOffline(policy: ResolvedPolicy): boolean {
 *   return seatbeltProfile(policy, null).includes("(deny network*)");
 * }
 * ```
 */
export function seatbeltProfile(policy: ResolvedPolicy, userTmp: string | null): string {
  const { mode, workspace, network, protectedPaths, hidden } = policy;
  const lines = ["(version 1)", "(allow default)", "(deny file-write*)", '(allow file-write* (literal "/dev/null"))'];
  if (mode === "workspace-write") {
    // /tmp is a link on macOS, and rules see paths without links.
    const folders = new Set([workspace, "/private/tmp", ...(userTmp === null ? [] : [userTmp])]);
    for (const folder of folders) lines.push(`(allow file-write* (subpath ${quoted(folder)}))`);
    const kept = new Set([...PROTECTED_NAMES.map((name) => `${workspace}/${name}`), ...protectedPaths]);
    for (const path of kept) lines.push(`(deny file-write* (subpath ${quoted(path)}))`);
  }
  for (const { path } of hidden) lines.push(`(deny file-read* file-write* (subpath ${quoted(path)}))`);
  if (network === "off") lines.push("(deny network*)");
  return lines.join("\n");
}

/** A string as the profile's language writes it. */
function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
