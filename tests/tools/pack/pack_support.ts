/**
 * The targets of the pack, each with a way to count what really happened.
 *
 * @module
 */
import { SimulatedTarget } from "../../../src/testing/simulated_target.ts";
import {
  type CommitOrder,
  type FileOrder,
  fileTarget,
  gitTarget,
  httpTarget,
  type KeyedTarget,
  type RunGit,
} from "../../../src/tools/pack/mod.ts";

/** A target on a stage. */
export interface Staged extends AsyncDisposable {
  readonly target: KeyedTarget<unknown>;
  /** A valid order. */
  readonly order: unknown;
  /** How often its effect happened. */
  effects(): Promise<number>;
}

/** What is under test, by its name. */
export const STAGES: Readonly<Record<string, () => Promise<Staged>>> = {
  bank: () => Promise.resolve(simulated({ to: "alice", amount: 10 })),
  outbox: () => Promise.resolve(simulated({ to: "a@b.example", subject: "hi", text: "there" })),
  http: () => Promise.resolve(overHttp()),
  file: () => Promise.resolve(inFolder()),
  git: inRepository,
};

function simulated(order: unknown): Staged {
  const target = new SimulatedTarget<unknown>();
  return { target, order, effects: () => Promise.resolve(target.ledger.length), [Symbol.asyncDispose]: async () => {} };
}

/** A real server in front of a simulated target. */
export function serve(target: SimulatedTarget<unknown>) {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const key = request.headers.get("idempotency-key")!;
    const order = await request.json();
    const found = request.method === "POST" ? await target.perform(key, order) : await target.close(key);
    return Response.json(found, { status: found.state === "closed" ? 409 : 200 });
  });
}

function overHttp(): Staged {
  const inner = new SimulatedTarget<unknown>();
  const server = serve(inner);
  return {
    target: httpTarget({ url: `http://127.0.0.1:${server.addr.port}/`, fetch }),
    order: { to: "alice", amount: 10 },
    effects: () => Promise.resolve(inner.ledger.length),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function inFolder(): Staged {
  const root = Deno.makeTempDirSync();
  const order: FileOrder = { path: "notes/a.txt", content: "new" };
  Deno.mkdirSync(`${root}/notes`);
  Deno.writeTextFileSync(`${root}/notes/a.txt`, "old");
  return {
    target: fileTarget({ root }) as KeyedTarget<unknown>,
    order,
    effects: () => Promise.resolve(Deno.readTextFileSync(`${root}/notes/a.txt`) === "new" ? 1 : 0),
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

/** Git in a bare repository of its own, with nobody's configuration. */
export function gitIn(folder: string): RunGit {
  return async (args, input, signal) => {
    const person = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
    const env = { GIT_CONFIG_NOSYSTEM: "1", HOME: folder, GIT_DIR: folder };
    const options = { env, stdin: "piped", stdout: "piped", stderr: "piped", signal } as const;
    const child = new Deno.Command("git", { args: [...person, ...args], ...options }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input)).catch(() => {});
    await writer.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
  };
}

async function inRepository(): Promise<Staged> {
  const folder = Deno.makeTempDirSync();
  const git = gitIn(folder);
  const { signal } = new AbortController();
  await git(["init", "--quiet", "--bare", folder], "", signal);
  const order: CommitOrder = { branch: "main", message: "a change", files: { "a.txt": "A", "b/c.txt": "C" } };
  return {
    target: gitTarget(git) as KeyedTarget<unknown>,
    order,
    effects: async () => Number((await git(["rev-list", "--count", "refs/heads/main"], "", signal)).stdout),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}
