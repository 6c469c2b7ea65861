/**
 * Git for a run of the lab: commands that can be held back until their sender is dead. A command outlives the process that started
 * it, as a request outlives its sender.
 *
 * A command that is held back makes the file `<gates>/<key>.waits`, waits for `<key>.go`, and makes `<key>.done` when it has ended.
 * `<key>.lands` says when it shall land.
 *
 * @module
 */
import type { GitAnswer, RunGit } from "../../src/tools/pack/git_commit.ts";
import type { Failpoints } from "./lab_failpoints.ts";
import type { Landing } from "./lab_plan.ts";

/** How long a command that nobody lets go waits, in looks of 10 ms each. */
const LOOKS_MAX = 3000;

/** How long a command may take to begin to wait, in looks. */
const START_LOOKS_MAX = 200;

/** Where git works. */
export interface GitPlace {
  /** A bare repository. */
  readonly repository: string;
  /** A folder for what is held back, and git's home, where nobody's configuration lies. */
  readonly gates: string;
}

/** Makes the bare repository. */
export async function makeRepository(repository: string): Promise<void> {
  const { code, stderr } = await runGit(
    { repository, gates: repository },
    ["init", "--quiet", "--bare", repository],
    "",
  );
  if (code !== 0) throw new Error(`git init failed: ${stderr}`);
}

/** Runs git. */
export async function runGit(
  place: GitPlace,
  args: readonly string[],
  input: string,
  { signal, heldKey }: { readonly signal?: AbortSignal; readonly heldKey?: string } = {},
  whenSent: () => void = () => {},
): Promise<GitAnswer> {
  const person = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
  const command = ["git", ...person, ...args];
  // What a held command prints goes nowhere: its reader is dead, and a broken pipe would end it before its work.
  const wait =
    `: >"$0.waits"; n=0; until [ -e "$0.go" ]; do n=$((n+1)); [ $n -lt ${LOOKS_MAX} ] || exit 1; sleep 0.01; done; ` +
    `"$@" >"$0.out" 2>&1; : >"$0.done"`;
  const [program, ...rest] = heldKey === undefined
    ? command
    : ["sh", "-c", wait, `${place.gates}/${heldKey}`, ...command];
  const child = new Deno.Command(program!, {
    args: rest,
    env: { GIT_CONFIG_NOSYSTEM: "1", HOME: place.gates, GIT_DIR: place.repository },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    signal,
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input)).catch(() => {});
  await writer.close().catch(() => {});
  whenSent();
  const { code, stdout, stderr } = await child.output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

/** How a process of a run uses git. */
export interface FailingGitOptions {
  readonly place: GitPlace;
  readonly points: Failpoints;
  /** When the commit of a call lands; `null` = at once. */
  readonly landingOf: (callId: string) => Landing | null;
  /** Told when a command is held back. */
  readonly onHeld: () => void;
}

/** Git with points around each command, whose commits can be held back. */
export function failingGit({ place, points, landingOf, onHeld }: FailingGitOptions): RunGit {
  /** Which call commits under a key. */
  const callIds = new Map<string, string>();
  return async (args, input, signal) => {
    const [, callId, madeFor] = /^(.*)\n\nEffect-Key: (\w+)\n$/.exec(input) ?? [];
    if (madeFor !== undefined) callIds.set(madeFor, callId!);
    const key = /create refs\/holdfast\/(\w+) /.exec(input)?.[1];
    const isCommit = /^update refs\/heads\//m.test(input);
    const what = points.phase === "open" ? "lookup" : "git";

    const lands = key !== undefined && isCommit ? landingOf(callIds.get(key) ?? "") : null;
    if (lands !== null) {
      await Deno.writeTextFile(`${place.gates}/${key}.lands`, lands);
      return await runGit(place, args, input, { heldKey: key }, onHeld);
    }
    const isTombstone = key !== undefined && !isCommit;
    if (isTombstone) await letGo(place, "ask", key);
    await points.pass(`${what}/run/before`);
    const answer = runGit(place, args, input, { signal });
    if (points.isHere(`${what}/run/inside`)) {
      answer.catch(() => {});
      await points.dieHere(`${what}/run/inside`);
    }
    const answered = await answer;
    if (isTombstone) await letGo(place, "after-ask", key);
    await points.pass(`${what}/run/after`);
    return answered;
  };
}

/** Lets land what was to land now, of one key or of all, and waits until it has. @returns how many */
export async function letGo({ gates }: GitPlace, when: Landing | "any", key?: string): Promise<number> {
  const keys: string[] = [];
  for await (const { name } of Deno.readDir(gates)) {
    const [, held] = /^(\w+)\.lands$/.exec(name) ?? [];
    if (held === undefined || (key !== undefined && key !== held) || await exists(`${gates}/${held}.go`)) continue;
    if (when === "any" || await Deno.readTextFile(`${gates}/${held}.lands`) === when) keys.push(held);
  }
  await Promise.all(keys.map(async (key) => {
    await Deno.writeTextFile(`${gates}/${key}.go`, "");
    for (let looks = 0; looks < LOOKS_MAX && !await exists(`${gates}/${key}.done`); looks++) {
      // Its process may have died before the command was started.
      if (looks >= START_LOOKS_MAX && !await exists(`${gates}/${key}.waits`)) break;
      await new Promise((over) => setTimeout(over, 5));
    }
  }));
  return keys.length;
}

/** The commits of a branch, oldest first: message and key. */
export async function commitsOf(place: GitPlace, branch: string): Promise<{ message: string; key: string }[]> {
  const format = "--format=%s%x09%(trailers:key=Effect-Key,valueonly,separator=%x2C)";
  const { code, stdout } = await runGit(place, ["log", "--reverse", format, `refs/heads/${branch}`, "--"], "");
  if (code !== 0) return [];
  return stdout.split("\n").filter((line) => line !== "").map((line) => {
    const [message = "", key = ""] = line.split("\t");
    return { message, key };
  });
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
