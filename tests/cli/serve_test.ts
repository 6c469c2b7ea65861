/**
 * `holdfast serve` as a process: with the permissions of the task, on the whole way, and how it ends.
 */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { repositoryDir } from "../support/paths.ts";
import { holdfast } from "./cli.ts";

/** The flags of `deno task serve`, with another port. */
async function taskFlags(port: number): Promise<string[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
  const words = (tasks.serve as string).split(" ");
  assertEquals(words.slice(0, 2), ["deno", "run"]);
  assertEquals(words.slice(-4), ["src/cli/main.ts", "serve", "--page", "web/dist"]);
  const flags = words.slice(2, -4);
  assert(flags.every((flag) => flag === "--no-prompt" || /^--allow-(read|write|net|env)=/.test(flag)), flags.join(" "));
  return flags.map((flag) => flag.replace(":8787", `:${port}`));
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** A server process. Whatever happens, it is gone when its scope ends. */
class Process implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly stderr: Promise<string>;
  readonly #stdout: AsyncIterator<string>;

  constructor(flags: readonly string[], args: readonly string[], cwd: string, env: Record<string, string> = {}) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--config",
        `${repositoryDir}/deno.json`,
        ...flags,
        `${repositoryDir}/src/cli/main.ts`,
        "serve",
        ...args,
      ],
      ...{ cwd, env, stdin: "null", stdout: "piped", stderr: "piped" },
    }).spawn();
    this.stderr = new Response(this.#child.stderr).text();
    this.#stdout = this.#child.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  }

  /** What it prints when it listens. @throws {Error} when it ends before */
  async document(): Promise<{ origin: string; token: string | null }> {
    for (let text = "";;) {
      const { value, done } = await this.#stdout.next();
      if (done === true) throw new Error(`It ended: ${await this.stderr}`);
      text += value;
      try {
        return JSON.parse(text);
      } catch {
        // More comes.
      }
    }
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  async ended(): Promise<{ code: number; signal: Deno.Signal | null }> {
    while ((await this.#stdout.next()).done !== true);
    const { code, signal } = await this.#child.status;
    return { code, signal };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It ended by itself.
    }
    await this.ended();
    await this.stderr;
  }
}

function asker({ origin, token }: { origin: string; token: string | null }) {
  return async (path: string, body?: unknown, method = body === undefined ? "GET" : "POST") => {
    const response = await fetch(origin + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
}

/** Follows a session until a durable event of this type. */
async function until(origin: string, token: string | null, id: string, type: string): Promise<void> {
  const abort = new AbortController();
  const response = await fetch(`${origin}/v1/sessions/${id}/events`, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
    signal: abort.signal,
  });
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (new RegExp(`^id: .*\\nevent: event\\ndata: \\{"type":"${type}"`, "m").test(text)) break;
  }
  abort.abort();
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-serve-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A session from its creation to its end, on a server with these flags. @throws {Error} when anything is not as it should be */
async function wholeWay(flags: readonly string[], port: number, folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/web/dist`, { recursive: true });
  await Deno.writeTextFile(`${folder}/web/dist/index.html`, "<!doctype html>");
  await using server = new Process(flags, ["--page", "web/dist", "--port", String(port), "--json"], folder);
  const { origin, token } = await server.document();
  const page = await fetch(`${origin}/`);
  assertEquals([page.status, await page.text()], [200, "<!doctype html>"]);
  assertMatch(page.headers.get("content-security-policy") ?? "", /default-src 'self'/);
  const ask = asker({ origin, token });
  const wanted = async (status: number, ...asked: Parameters<typeof ask>) => {
    const { status: found, text } = await ask(...asked);
    assertEquals(found, status, text);
    return text;
  };
  await wanted(201, "/v1/sessions", { id: "a" });
  await wanted(202, "/v1/sessions/a/inputs", { text: "write hello to notes.txt" });
  await until(origin, token, "a", "approval/bound");
  const { questions: [question] } = JSON.parse(await wanted(200, "/v1/sessions/a/approvals"));
  const { id, argumentsDigest } = question;
  await wanted(200, `/v1/sessions/a/approvals/${id}`, { decision: "allowed-once", argumentsDigest });
  await until(origin, token, "a", "turn/end");
  assertEquals(await Deno.readTextFile(`${folder}/workspace/notes.txt`), "hello");
  // Without leave to use the network no tool for it is offered.
  const log = await wanted(200, "/v1/sessions/a/export");
  assert(!log.includes('"name":"http_request"'));
  const imported = await fetch(`${origin}/v1/sessions/import?id=b`, {
    method: "POST",
    body: log,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
  });
  assertEquals(imported.status, 201, await imported.text());
  await wanted(204, "/v1/sessions/b", undefined, "DELETE");
  server.kill("SIGTERM");
  assertEquals(await server.ended(), { code: 0, signal: null });
  assert(token !== null && !(await server.stderr).includes(token));
}

Deno.test("deno task serve: exactly its permissions are enough for a session from its creation to its end", async () => {
  await inFolder(async (folder) => {
    const port = freePort();
    await wholeWay(await taskFlags(port), port, folder);
    assertEquals(((await Deno.stat(`${folder}/.holdfast/server-token`)).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("deno task serve: no permission of it can be left out", async () => {
  const port = freePort();
  const flags = await taskFlags(port);
  const permissions = flags.filter((flag) => flag.startsWith("--allow-"));
  assertEquals(permissions.length, 4);
  for (const left of permissions) {
    const [name, values] = left.split("=") as [string, string];
    for (const value of values.split(",")) {
      const rest = values.split(",").filter((other) => other !== value).join(",");
      const fewer = [...flags.filter((flag) => flag !== left), ...(rest === "" ? [] : [`${name}=${rest}`])];
      await inFolder(async (folder) => {
        await assertRejects(() => wholeWay(fewer, port, folder), Error, undefined, `without ${name}=${value}`);
      });
    }
  }
});

Deno.test("SIGTERM: a question that is open may still be answered, its turn ends, and the exit code is 0", async () => {
  await inFolder(async (folder) => {
    const env = { HOLDFAST_TOKEN: "a-token-of-the-environment" };
    await using server = new Process(["-A"], ["--port", "0", "--json", "--grace", "60"], folder, env);
    const { origin, token } = await server.document();
    assertEquals(token, null);
    const ask = asker({ origin, token: env.HOLDFAST_TOKEN });
    await ask("/v1/sessions", { id: "a" });
    await ask("/v1/sessions", { id: "idle" });
    await ask("/v1/sessions/a/inputs", { text: "write hello to notes.txt" });
    await until(origin, env.HOLDFAST_TOKEN, "a", "approval/bound");
    const { questions: [question] } = JSON.parse((await ask("/v1/sessions/a/approvals")).text);
    server.kill("SIGTERM");
    while ((await ask("/readyz")).status !== 503);
    for (const [path, body] of [["/v1/sessions", { id: "b" }], ["/v1/sessions/idle/inputs", { text: "x" }]] as const) {
      const refused = await ask(path, body);
      assertEquals([refused.status, JSON.parse(refused.text).code], [503, "DRAINING"]);
    }
    const { id, argumentsDigest } = question;
    const decided = await ask(`/v1/sessions/a/approvals/${id}`, { decision: "allowed-once", argumentsDigest });
    assertEquals(decided.status, 200, decided.text);
    assertEquals(await server.ended(), { code: 0, signal: null });
    assertEquals(await Deno.readTextFile(`${folder}/workspace/notes.txt`), "hello");
  });
});

Deno.test("SIGTERM: a turn that does not end is cancelled when the time is over, everything is flushed, and the exit code is 0", async () => {
  await inFolder(async (folder) => {
    const env = { HOLDFAST_TOKEN: "a-token-of-the-environment" };
    await using server = new Process(["-A"], ["--port", "0", "--json", "--grace", "0"], folder, env);
    const { origin } = await server.document();
    const ask = asker({ origin, token: env.HOLDFAST_TOKEN });
    await ask("/v1/sessions", { id: "a" });
    await ask("/v1/sessions/a/inputs", { text: "write hello to notes.txt" });
    await until(origin, env.HOLDFAST_TOKEN, "a", "approval/bound");
    server.kill("SIGTERM");
    assertEquals(await server.ended(), { code: 0, signal: null });
    const tokens = await Array.fromAsync(Deno.readDir(`${folder}/.holdfast/tokens`));
    const root = `${folder}/.holdfast/tokens/${tokens[0]!.name}`;
    const ran = await holdfast(["show", "a", "--root", root, "--limit", "all", "--json"], { cwd: folder });
    const { events } = JSON.parse(ran.stdout);
    // deno-lint-ignore no-explicit-any -- events as they are printed
    const types = events.map(({ type }: any) => type);
    assertEquals(types.slice(-3), ["tool/result", "step/end", "turn/end"]);
    assertEquals(events.at(-1).data.reason.kind, "aborted");
    // deno-lint-ignore no-explicit-any -- as above
    assertEquals(events.find(({ type }: any) => type === "approval/decided").data.outcome, "cancelled");
    const verified = await holdfast(["verify", "a", "--root", root, "--json"], { cwd: folder });
    assertEquals([verified.code, JSON.parse(verified.stdout)[0].open], [0, null]);
  });
});

Deno.test("SIGTERM twice: the second one ends the waiting", async () => {
  await inFolder(async (folder) => {
    const env = { HOLDFAST_TOKEN: "a-token-of-the-environment" };
    await using server = new Process(["-A"], ["--port", "0", "--json", "--grace", "3600"], folder, env);
    const { origin } = await server.document();
    const ask = asker({ origin, token: env.HOLDFAST_TOKEN });
    await ask("/v1/sessions", { id: "a" });
    await ask("/v1/sessions/a/inputs", { text: "write hello to notes.txt" });
    await until(origin, env.HOLDFAST_TOKEN, "a", "approval/bound");
    server.kill("SIGTERM");
    while ((await ask("/readyz")).status !== 503);
    server.kill("SIGTERM");
    assertEquals(await server.ended(), { code: 0, signal: null });
  });
});

Deno.test("serve refuses what is wrong with the command line before anything listens", async () => {
  await inFolder(async (cwd) => {
    const wrong: readonly (readonly string[])[] = [
      ["--port", "70000"],
      ["--host", "0.0.0.0"],
      ["--allow-origin", "example.com"],
      ["--allow-origin", "https://example.com/path"],
      ["--approve", "never"],
      ["--cert", "x.pem"],
      ["--cert", "x.pem", "--key", "y.pem"],
      ["--grace", "3601"],
      ["--model", "nothing"],
      ["more"],
    ];
    for (const args of wrong) {
      const port = args[0] === "--port" ? [] : ["--port", "0"];
      const ran = await holdfast(["serve", ...port, ...args], { cwd });
      assertEquals(ran.code, 2, `${args.join(" ")}: ${ran.stderr}`);
    }
    const short = await holdfast(["serve", "--port", "0", "--token", "short-secret"], { cwd });
    assertEquals(short.code, 2);
    assertStringIncludes(short.stderr, "wanted at least 20 characters");
    assert(!short.stderr.includes("short-secret"));
    const empty = await holdfast(["serve", "--port", "0"], { cwd, env: { HOLDFAST_TOKEN: "" } });
    assertEquals(empty.code, 2);
  });
});

Deno.test("serve says that the port is taken, and how to take another one", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await inFolder(async (cwd) => {
    const { code, stderr } = await holdfast(["serve", "--port", String(taken.addr.port)], { cwd });
    assertEquals(code, 2);
    assertStringIncludes(stderr, `Cannot use --port ${taken.addr.port}: it is taken`);
  });
});

Deno.test("serve --page says when there is no page in the folder, and serves all the same", async () => {
  await inFolder(async (folder) => {
    await using server = new Process(["-A"], ["--page", "nowhere", "--port", "0", "--json"], folder);
    await server.document();
    server.kill("SIGTERM");
    assertEquals(await server.ended(), { code: 0, signal: null });
    assertStringIncludes(await server.stderr, 'There is no page in "nowhere" yet: deno task build makes one');
  });
});
