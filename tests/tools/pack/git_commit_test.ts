import { assert, assertEquals, assertRejects } from "@std/assert";
import { type CommitOrder, gitCommitTool, gitTarget, type RunGit } from "../../../src/tools/pack/mod.ts";
import { gitIn } from "./pack_support.ts";

const { signal } = new AbortController();
const ORDER: CommitOrder = { branch: "main", message: "change a", files: { "a.txt": "A", "deep/er/b.txt": "B" } };

class Repository implements AsyncDisposable {
  readonly folder = Deno.makeTempDirSync();
  readonly git = gitIn(this.folder);

  static async make(): Promise<Repository> {
    const made = new Repository();
    await made.git(["init", "--quiet", "--bare", made.folder], "", signal);
    return made;
  }

  async read(...args: string[]): Promise<string> {
    return (await this.git(args, "", signal)).stdout;
  }

  async commits(): Promise<number> {
    return Number(await this.read("rev-list", "--count", "refs/heads/main"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

Deno.test("git_commit: puts files into the tree of the branch, and names its key", async () => {
  await using repository = await Repository.make();
  const target = gitTarget(repository.git);
  await target.perform("k1", ORDER, signal);
  await target.perform("k2", { ...ORDER, files: { "deep/c.txt": "C" } }, signal);
  assertEquals(await repository.read("ls-tree", "-r", "--name-only", "main"), "a.txt\ndeep/c.txt\ndeep/er/b.txt\n");
  assertEquals(await repository.read("show", "main:deep/er/b.txt"), "B");
  assertEquals(await repository.read("log", "-1", "--format=%B", "main"), "change a\n\nEffect-Key: k2\n\n");
  for (const path of ["../x", "a/../b", ".git/config", "a//b"]) {
    await assertRejects(() => target.perform("k3", { ...ORDER, files: { [path]: "x" } }, signal), Error, "is no path");
  }
  assertEquals(await repository.commits(), 2);
});

/** Stops, or lets something else happen, around the n-th command. */
function interrupted(git: RunGit, place: number, act: () => Promise<void>): { git: RunGit; isReached: () => boolean } {
  let seen = 0;
  let isReached = false;
  const look = async () => {
    if (seen++ !== place) return;
    isReached = true;
    await act();
  };
  const run: RunGit = async (args, input, signal) => {
    await look();
    const answer = await git(args, input, signal);
    await look();
    return answer;
  };
  return { git: run, isReached: () => isReached };
}

Deno.test("git_commit: wherever the writer dies, closing the key says what is true, and keeps it true", async () => {
  const seen = new Set<string>();
  for (let place = 0;; place++) {
    await using repository = await Repository.make();
    const dying = interrupted(repository.git, place, () => Promise.reject(new Error("killed")));
    await gitTarget(dying.git).perform("k", ORDER, signal).catch(() => {});
    if (!dying.isReached()) break;
    const target = gitTarget(repository.git);
    const found = await target.close("k", ORDER, signal);
    assertEquals(await repository.commits(), found.state === "done" ? 1 : 0, `killed at ${place}`);
    assertEquals((await target.perform("k", ORDER, signal)).state, found.state);
    assertEquals(await repository.commits(), found.state === "done" ? 1 : 0);
    seen.add(found.state);
  }
  assertEquals([...seen].sort(), ["closed", "done"]);
});

Deno.test("git_commit: a key that is closed while a commit is under way stops it, or comes too late", async () => {
  const seen = new Set<string>();
  for (let place = 0;; place++) {
    await using repository = await Repository.make();
    let closed: string | null = null;
    const slow = interrupted(repository.git, place, async () => {
      closed = (await gitTarget(repository.git).close("k", ORDER, signal)).state;
    });
    const answer = await gitTarget(slow.git).perform("k", ORDER, signal);
    if (!slow.isReached()) break;
    assert(closed !== null);
    assertEquals(answer.state, closed, `closed at ${place}`);
    assertEquals(await repository.commits(), closed === "done" ? 1 : 0);
    seen.add(closed);
  }
  assertEquals([...seen].sort(), ["closed", "done"]);
});

Deno.test("git_commit: a branch that moves meanwhile gets the commit on top", async () => {
  await using repository = await Repository.make();
  const target = gitTarget(repository.git);
  await target.perform("k1", ORDER, signal);
  const slow = interrupted(repository.git, 6, async () => {
    await target.perform("k2", { ...ORDER, files: { "other.txt": "O" } }, signal);
  });
  assertEquals((await gitTarget(slow.git).perform("k3", ORDER, signal)).state, "done");
  assert(slow.isReached());
  assertEquals(await repository.commits(), 3);
  assertEquals(await repository.read("show", "main:other.txt"), "O");
});

Deno.test("git_commit: what git refuses for good is refused, and the key stays open", async () => {
  await using repository = await Repository.make();
  const target = gitTarget(repository.git);
  const refused = await target.perform("k", { ...ORDER, branch: "a..b" }, signal);
  assertEquals(refused.state, "refused");
  assertEquals((await target.perform("k", ORDER, signal)).state, "done");
});

Deno.test("git_commit: what git cannot say is thrown, and a person is asked with what will be done", async () => {
  const broken = gitTarget(() => Promise.resolve({ code: 128, stdout: "", stderr: "no repository" }));
  await assertRejects(() => broken.close("k", ORDER, signal), Error, "no repository");
  const tool = gitCommitTool(gitIn("."));
  assertEquals(tool.permissionFor(ORDER as never, "keyed"), {
    decision: "ask",
    reason: 'commit 2 files to main: "change a"',
  });
});
