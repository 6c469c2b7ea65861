/**
 * Committing to a branch of a git repository, at most once for each key.
 *
 * Every commit of this tool is made in one transaction of refs: the branch moves, and `refs/holdfast/KEY` appears. A key is closed by
 * the same ref with something in it that is no commit of ours; whichever comes first wins, and git refuses the other.
 *
 * @see git-update-ref(1), `--stdin`: "create" refuses a ref that exists; all updates of a transaction or none
 * @module
 */
import { type Tool, ToolError } from "../../tool/mod.ts";
import { type KeyedTarget, keyedTool, type KeyState } from "./keyed_target.ts";

/** What git answered. */
export interface GitAnswer {
  /** Exit code; 0 is fine. */
  readonly code: number;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
}

/** Runs git in the repository. */
export type RunGit = (args: readonly string[], input: string, signal: AbortSignal) => Promise<GitAnswer>;

/** What is committed. */
export interface CommitOrder {
  readonly branch: string;
  readonly message: string;
  /** Path → text. Files that are not named stay as they are. */
  readonly files: Readonly<Record<string, string>>;
}

/** How often a commit is made anew because the branch had moved meanwhile. */
export const BRANCH_MOVES_MAX = 5;

/**
 * Makes the tool `git_commit`. It touches neither the index nor the working tree.
 *
 * @example
 * ```ts
 * import { gitCommitTool } from "./git_commit.ts";
 *
 * const tool = gitCommitTool(() => Promise.resolve({ code: 1, stdout: "", stderr: "no git here" }));
 * if (tool.effectOf({}) !== "keyed") throw new Error("unreachable");
 * ```
 */
export function gitCommitTool(git: RunGit): Tool {
  return keyedTool<CommitOrder>({
    name: "git_commit",
    description: "Commits files to a branch of the repository.",
    parameters: {
      type: "object",
      properties: {
        branch: { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._/-]*$" },
        message: { type: "string", minLength: 1 },
        files: { type: "object", additionalProperties: { type: "string" } },
      },
      required: ["branch", "message", "files"],
    },
    reason: ({ branch, message, files }) =>
      `commit ${Object.keys(files).length} files to ${branch}: ${JSON.stringify(message)}`,
    target: gitTarget(git),
  });
}

/**
 * The repository as a target that keeps keys.
 *
 * @example
 * ```ts
 * import { gitTarget } from "./git_commit.ts";
 *
 * const target = gitTarget(() => Promise.resolve({ code: 0, stdout: "", stderr: "" }));
 * if (typeof target.close !== "function") throw new Error("unreachable");
 * ```
 */
export function gitTarget(run: RunGit): KeyedTarget<CommitOrder> {
  // By default git does not sync refs and loose objects: a power cut could take a tombstone away, and what it promised.
  const git: RunGit = (args, input, signal) => run(["-c", `core.fsync=${SYNCED}`, ...args], input, signal);
  return {
    async perform(key, order, signal) {
      for (let tries = 0; tries < BRANCH_MOVES_MAX; tries++) {
        const known = await keyState(git, key, order.branch, signal);
        if (known !== null) return known;
        const branch = `refs/heads/${order.branch}`;
        const old = await revision(git, branch, signal);
        const commit = await newCommit(git, key, order, old, signal);
        const moves = [
          `create ${refOf(key)} ${commit}`,
          `update ${branch} ${commit} ${old ?? "0".repeat(commit.length)}`,
        ];
        const { code, stderr } = await git(
          ["update-ref", "--stdin"],
          `${["start", ...moves, "prepare", "commit"].join("\n")}\n`,
          signal,
        );
        if (code === 0) return done(commit);
        // Refused: the key is taken, or the branch moved. What there is now says which; if neither, git refuses for good.
        const isSame = await revision(git, branch, signal) === old && await revision(git, refOf(key), signal) === null;
        if (isSame) return { state: "refused", reason: `git refused the commit: ${stderr.trim()}` };
      }
      return { state: "refused", reason: `the branch ${order.branch} moved ${BRANCH_MOVES_MAX} times` };
    },

    async close(key, { branch }, signal) {
      const tombstone = (await ok(git, ["hash-object", "-w", "--stdin"], "closed\n", signal)).trim();
      // Whether it took or not, what is there now decides.
      await git(["update-ref", "--stdin"], `create ${refOf(key)} ${tombstone}\n`, signal);
      return await keyState(git, key, branch, signal) ?? { state: "unknown" };
    },
  };
}

const SYNCED = "committed,loose-object,reference";

function refOf(key: string): string {
  return `refs/holdfast/${key}`;
}

function done(commit: string): KeyState {
  return { state: "done", receipt: `Committed ${commit}.` };
}

/** `null` when the key is open. */
async function keyState(
  git: RunGit,
  key: string,
  branch: string,
  signal: AbortSignal,
): Promise<KeyState | null> {
  const found = await revision(git, refOf(key), signal);
  if (found === null) return null;
  const type = (await ok(git, ["cat-file", "-t", found], "", signal)).trim();
  if (type !== "commit") return { state: "closed" };
  // A power cut can keep one ref of a transaction and lose the other. Then the key says nothing about the branch.
  const { code } = await git(["merge-base", "--is-ancestor", found, `refs/heads/${branch}`], "", signal);
  if (code === 0) return done(found);
  throw new Error(`commit ${found} was made for this key and is not on branch ${branch}`);
}

async function revision(git: RunGit, ref: string, signal: AbortSignal): Promise<string | null> {
  const { code, stdout } = await git(["rev-parse", "--verify", "--quiet", ref], "", signal);
  return code === 0 ? stdout.trim() : null;
}

/** Objects alone are no effect: nothing points to them. */
async function newCommit(
  git: RunGit,
  key: string,
  { message, files }: CommitOrder,
  parent: string | null,
  signal: AbortSignal,
): Promise<string> {
  const tree = await treeWith(git, parent === null ? null : `${parent}^{tree}`, new Map(Object.entries(files)), signal);
  const text = `${message}\n\nEffect-Key: ${key}\n`;
  const parents = parent === null ? [] : ["-p", parent];
  return (await ok(git, ["commit-tree", tree, ...parents], text, signal)).trim();
}

/** The tree with these files put into it, folder by folder. */
async function treeWith(
  git: RunGit,
  base: string | null,
  files: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<string> {
  const entries = new Map<string, string>();
  if (base !== null) {
    for (const line of (await ok(git, ["ls-tree", "-z", base], "", signal)).split("\0")) {
      const [facts, name] = [line.slice(0, line.indexOf("\t")), line.slice(line.indexOf("\t") + 1)];
      if (line !== "") entries.set(name, facts);
    }
  }
  const folders = new Map<string, Map<string, string>>();
  for (const [path, text] of files) {
    const [name = "", ...rest] = path.split("/");
    if (["", ".", "..", ".git"].includes(name)) {
      throw new ToolError("INVALID_ARGS", `invalid arguments: "${path}" is no path`);
    }
    if (rest.length > 0) {
      folders.set(name, (folders.get(name) ?? new Map()).set(rest.join("/"), text));
    } else {
      entries.set(name, `100644 blob ${(await ok(git, ["hash-object", "-w", "--stdin"], text, signal)).trim()}`);
    }
  }
  for (const [name, inner] of folders) {
    const old = entries.get(name)?.split(" ");
    const tree = await treeWith(git, old?.[1] === "tree" ? old[2]! : null, inner, signal);
    entries.set(name, `040000 tree ${tree}`);
  }
  const lines = [...entries].map(([name, facts]) => `${facts}\t${name}\0`).join("");
  return (await ok(git, ["mktree", "-z"], lines, signal)).trim();
}

async function ok(git: RunGit, args: readonly string[], input: string, signal: AbortSignal): Promise<string> {
  const { code, stdout, stderr } = await git(args, input, signal);
  if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr.trim()}`);
  return stdout;
}
