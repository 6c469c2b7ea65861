/**
 * What attempts to get out of a sandbox are made on: a workspace, what lies beside it, a process to harm, and sockets to reach.
 *
 * @module
 */
import type { Sign } from "./escapes.ts";

/** The content of files nobody may change. */
const KEPT = "kept\n";

/** A workspace and everything around it, made anew for each attempt. */
export class Stage implements AsyncDisposable {
  readonly mark = `holdfast-${crypto.randomUUID().slice(0, 8)}`;
  /** Not below /tmp, which a sandbox may hide. */
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly #victim: Deno.ChildProcess | null;
  #before = new Map<string, string>();

  private constructor(folder: string, variables: Record<string, string>, victim: Deno.ChildProcess | null) {
    this.folder = folder;
    const nap = String(100_000 + crypto.getRandomValues(new Uint32Array(1))[0]! % 800_000);
    const key = String(0x1000_0000 + crypto.getRandomValues(new Uint32Array(1))[0]! % 0x1000_0000);
    const home = Deno.env.get("HOME") ?? "/";
    this.#victim = victim;
    this.variables = {
      ...variables,
      WS: `${folder}/ws`,
      OUT: `${folder}/out`,
      MARK: this.mark,
      NAP: nap,
      KEY: key,
      REAL_HOME: home,
      VICTIM: String(victim?.pid ?? 0),
    };
  }

  /** @param variables of the listeners */
  static async make(variables: Record<string, string>, hasVictim: boolean): Promise<Stage> {
    const folder = await Deno.realPath(await Deno.makeTempDir({ dir: "/var/tmp", prefix: "holdfast-stage-" }));
    for (
      const path of ["ws/.git/hooks", "ws/.vscode", "ws/sub/.git", "ws/folder", "out/folder", "out/mount", "out/hidden"]
    ) {
      await Deno.mkdir(`${folder}/${path}`, { recursive: true });
    }
    for (const path of ["ws/.git/config", "ws/sub/.git/config", "ws/.envrc", "ws/file", "out/kept", "out/held"]) {
      await Deno.writeTextFile(`${folder}/${path}`, KEPT, { mode: 0o600 });
    }
    await Deno.writeTextFile(`${folder}/out/hidden/token`, "HIDDEN\n");
    await Deno.writeTextFile(`${folder}/out/hidden_file`, "HIDDEN\n");
    await Deno.symlink("../out", `${folder}/ws/link_to_folder`);
    await Deno.symlink("../out/kept", `${folder}/ws/link_to_file`);
    await shell('mkfifo "$1"', `${folder}/out/pipe_of_host`);
    const victim = hasVictim ? await makeVictim(`${folder}/out`) : null;
    const stage = new Stage(folder, variables, victim);
    for (const path of ["$OUT/kept", "$OUT/held", "$WS/.git/config", "$WS/sub/.git/config", "$WS/.envrc"]) {
      stage.#before.set(path, stage.#stateOf(path));
    }
    return stage;
  }

  get workspace(): string {
    return `${this.folder}/ws`;
  }

  get hidden(): readonly string[] {
    return [`${this.folder}/out/hidden`, `${this.folder}/out/hidden_file`];
  }

  /** Whether an attempt came out, as far as files, processes and words show it. */
  shows(sign: Sign, stdout: string): boolean {
    if ("made" in sign) return this.#stateOf(sign.made) !== "";
    if ("gone" in sign) return this.#stateOf(sign.gone) === "";
    if ("changed" in sign) return this.#stateOf(sign.changed) !== this.#before.get(sign.changed)!;
    if ("said" in sign) return stdout.includes(sign.said);
    if ("mounted" in sign) {
      return Deno.readTextFileSync("/proc/self/mountinfo").includes(` ${this.#path(sign.mounted)} `);
    }
    if ("shared" in sign) return sharedMemoryKeys().includes(this.variables.KEY!);
    if ("survived" in sign) return survivors(this.variables.NAP!).length > 0;
    if ("victim" in sign) return this.#victimShows(sign.victim);
    throw new TypeError("a listener shows that");
  }

  #victimShows(what: "ended" | "stopped" | "nice" | "files"): boolean {
    const { pid } = this.#victim!;
    let status: string;
    try {
      status = Deno.readTextFileSync(`/proc/${pid}/status`);
    } catch {
      return what === "ended";
    }
    switch (what) {
      case "ended":
      case "stopped":
        // It sleeps and no signal waits for it: what was sent to it has arrived by now, and nothing was.
        return !/^State:\s+S/m.test(status) || !/^ShdPnd:\s+0+$/m.test(status);
      case "nice": {
        const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
        return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16] !== "0";
      }
      case "files":
        return /^Max open files\s+77\s/m.test(Deno.readTextFileSync(`/proc/${pid}/limits`));
    }
  }

  #path(path: string): string {
    return path.replace(/\$([A-Z_]+)/g, (_, name: string) => this.variables[name]!);
  }

  /** Empty when there is nothing. */
  #stateOf(path: string): string {
    const real = this.#path(path);
    try {
      const { ino, mode, uid, mtime, isFile } = Deno.lstatSync(real);
      return [ino, mode, uid, mtime?.getTime(), isFile ? Deno.readTextFileSync(real) : ""].join(" ");
    } catch {
      return "";
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of survivors(this.variables.NAP!)) Deno.kill(pid, "SIGKILL");
    if (this.#victim !== null) {
      try {
        this.#victim.kill("SIGKILL");
      } catch {
        // An attempt came out, and it has ended.
      }
      await this.#victim.status;
    }
    const paths = [`/tmp/${this.mark}`, `/dev/shm/${this.mark}`, `/dev/${this.mark}`, `/etc/${this.mark}`];
    for (const path of [...paths, `${this.variables.REAL_HOME}/.${this.mark}`]) {
      await Deno.remove(path).catch(() => {});
    }
    const mounted = this.#path("$OUT/folder");
    if (Deno.readTextFileSync("/proc/self/mountinfo").includes(` ${mounted} `)) await shell('umount "$1"', mounted);
    if (sharedMemoryKeys().includes(this.variables.KEY!)) {
      await shell(`perl -e '$id = shmget($ARGV[0], 0, 0); shmctl($id, 0, 0) if defined $id' "$1"`, this.variables.KEY!);
    }
    await Deno.remove(this.folder, { recursive: true });
    await Deno.remove(`${this.folder}.moved`, { recursive: true }).catch(() => {});
  }
}

/** A process of the host, the leader of its group. Resolves when it has become what it says. */
async function makeVictim(folder: string): Promise<Deno.ChildProcess> {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", 'exec 9>>"$1/held"; echo ready; exec sleep 600 >/dev/null', "victim", folder],
    cwd: folder,
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", TOKEN: "VICTIM_SECRET" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    detached: true,
  }).spawn();
  // The pipe ends when the shell has become `sleep`, which no longer holds it.
  await new Response(child.stdout).text();
  return child;
}

function sharedMemoryKeys(): string[] {
  return Deno.readTextFileSync("/proc/sysvipc/shm").split("\n").map((line) => line.trim().split(/\s+/)[0]!);
}

/** Processes that have the number in their command line. */
function survivors(nap: string): number[] {
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (Deno.readTextFileSync(`/proc/${name}/cmdline`).includes(nap)) found.push(Number(name));
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

/** Runs a shell script without any sandbox. */
export async function shell(script: string, ...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", ...args],
    clearEnv: true,
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    stdin: "null",
    stderr: "null",
  })
    .output();
  return new TextDecoder().decode(stdout);
}
