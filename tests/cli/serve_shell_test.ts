/**
 * The shell of `holdfast serve`: with which permissions it is there, how far it goes, and what is said without it.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { canBubblewrap, canLandlock } from "../sandbox/host.ts";
import { repositoryDir } from "../support/paths.ts";
import { holdfast } from "./cli.ts";

const TOKEN = "a-token-of-the-environment";

/** The words of a task of deno.json between `deno run` and the program, with another port. */
async function flagsOf(task: string, port: number): Promise<string[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
  const words = (tasks[task] as string).split(" ");
  return words.slice(2, words.indexOf("src/cli/main.ts")).map((flag) => flag.replace(":8787", `:${port}`));
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** A server process and a client of it. */
class Server implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #folder: string;
  readonly stderr: Promise<string>;
  origin = "";

  private constructor(folder: string, child: Deno.ChildProcess) {
    this.#folder = folder;
    this.#child = child;
    this.stderr = new Response(child.stderr).text();
  }

  static async start(flags: readonly string[], args: readonly string[], port = 0): Promise<Server> {
    // Not below /tmp, which a sandbox may hide.
    const folder = await Deno.realPath(await Deno.makeTempDir({ dir: "/var/tmp", prefix: "holdfast-serve-" }));
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--config", `${repositoryDir}/deno.json`, ...flags, `${repositoryDir}/src/cli/main.ts`],
        ...["serve", "--json", "--port", String(port), ...args],
      ],
      ...{ cwd: folder, env: { HOLDFAST_TOKEN: TOKEN }, stdin: "null", stdout: "piped", stderr: "piped" },
    }).spawn();
    const server = new Server(folder, child);
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; server.origin === "";) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`It ended: ${await server.stderr}`);
      text += value;
      server.origin = /"origin":\s*"([^"]+)"/.exec(text)?.[1] ?? "";
    }
    reader.releaseLock();
    return server;
  }

  has(path: string): boolean {
    try {
      return Deno.lstatSync(`${this.#folder}/${path}`).isFile;
    } catch {
      return false;
    }
  }

  async ask(path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.origin}/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Says something to a new session, allows what is asked, and resolves with the log when the turn has ended. */
  async turn(id: string, text: string): Promise<string> {
    await this.ask("/sessions", { id });
    await this.ask(`/sessions/${id}/inputs`, { text });
    const abort = new AbortController();
    const tail = await fetch(`${this.origin}/v1/sessions/${id}/events`, {
      headers: { authorization: `Bearer ${TOKEN}`, accept: "text/event-stream" },
      signal: abort.signal,
    });
    let log = "";
    for await (const chunk of tail.body!.pipeThrough(new TextDecoderStream())) {
      const isAsked = /"approval\/bound"/.test(chunk);
      log += chunk;
      if (isAsked) {
        const { questions } = (await this.ask(`/sessions/${id}/approvals`)).body as { questions: { id: string }[] };
        for (const question of questions) {
          const { argumentsDigest } = question as { argumentsDigest?: string };
          await this.ask(`/sessions/${id}/approvals/${question.id}`, { decision: "allowed-once", argumentsDigest });
        }
      }
      if (/^id: .*\nevent: event\ndata: \{"type":"turn\/end"/m.test(log)) break;
    }
    abort.abort();
    return log;
  }

  async exec(key: number, script: string, more: Record<string, unknown> = {}) {
    const effectKey = key.toString(16).padStart(32, "0");
    return await this.ask("/sandbox/exec", { effectKey, script, waitMs: 30_000, ...more });
  }

  /** Ends it properly. */
  async end(): Promise<{ code: number; stderr: string }> {
    this.#child.kill("SIGTERM");
    const { code } = await this.#child.status;
    return { code, stderr: await this.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It ended by itself.
    }
    await this.#child.status;
    await this.#child.stdout.cancel().catch(() => {});
    await this.stderr;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

Deno.test("deno task serve has no leave to start processes: no shell is offered, and the endpoint says why", async () => {
  const port = freePort();
  await using server = await Server.start(await flagsOf("serve", port), [], port);
  const log = await server.turn("a", "run ls");
  assert(!log.includes('"name":"shell"'), "a shell is offered");
  const { status, body } = await server.exec(1, "ls");
  assertEquals([status, body["code"]], [503, "SANDBOX_UNAVAILABLE"]);
  assertStringIncludes(String(body["detail"]), "it may not start /bin/sh");
  const { code, stderr } = await server.end();
  assertEquals(code, 0);
  assertStringIncludes(stderr, "No shell: it may not start /bin/sh");
});

Deno.test({
  name: "deno task serve:sandbox: leave to start /bin/sh is all that a shell needs, here and at the endpoint",
  ignore: !canBubblewrap && !canLandlock,
  async fn() {
    const port = freePort();
    const flags = await flagsOf("serve:sandbox", port);
    assertEquals(flags.filter((flag) => flag.startsWith("--allow-run")), ["--allow-run=/bin/sh"]);
    await using server = await Server.start(flags, [], port);
    const log = await server.turn("a", "run echo x >made in workspace-write because it is wanted");
    assertStringIncludes(log, "exit code 0");
    assert(server.has("workspace/made"));
    const read = await server.turn("b", "run ls ../.holdfast; echo x >other");
    assertStringIncludes(read, "the sandbox (read-only) seems to have refused something");
    assert(!server.has("workspace/other"));
    // What the server keeps is hidden; Landlock alone cannot, and says so in its report.
    if (canBubblewrap) assert(!/\btokens\b/.test(read), read);

    const ran = await server.exec(1, "echo from the endpoint");
    assertEquals([ran.status, ran.body["state"]], [200, "finished"]);
    assertStringIncludes(JSON.stringify(ran.body), "from the endpoint");
    for (const more of [{ mode: "danger-full-access" }, { network: "on" }]) {
      const { status, body } = await server.exec(2, "echo x >/var/tmp/never", more);
      assertEquals([status, body["code"]], [403, "MODE_REFUSED"]);
    }
    const { code, stderr } = await server.end();
    assertEquals(code, 0);
    assertMatch(stderr, /shell in read-only: (bubblewrap|landlock): .*; up to workspace-write can be granted/);
  },
});

Deno.test("serve --sandbox off: no shell, although the process might start one, and what ran earlier can be asked about", async () => {
  await using server = await Server.start(["-A"], ["--sandbox", "off"]);
  const { status, body } = await server.exec(1, "ls");
  assertEquals([status, body["code"]], [503, "SANDBOX_UNAVAILABLE"]);
  assertStringIncludes(String(body["detail"]), "--sandbox off");
  const settled = await server.ask(`/sandbox/exec/${"1".padStart(32, "0")}/settle`, {});
  assertEquals([settled.status, settled.body["state"]], [200, "absent"]);
  assertEquals((await server.end()).code, 0);
});

Deno.test("serve refuses flags of the sandbox that do not fit each other", async () => {
  const cwd = await Deno.makeTempDir({ prefix: "holdfast-serve-" });
  try {
    const wrong: readonly (readonly [args: string[], said: string])[] = [
      [["--sandbox", "none"], "wanted one of"],
      [["--sandbox-max", "none"], "wanted one of"],
      [["--sandbox", "workspace-write", "--sandbox-max", "read-only"], "is wider"],
      [["--sandbox", "off", "--sandbox-network"], "there is no shell"],
      [["--sandbox", "off", "--sandbox-max", "workspace-write"], "there is no shell"],
    ];
    for (const [args, said] of wrong) {
      const { code, stderr } = await holdfast(["serve", "--port", "0", ...args], { cwd });
      assertEquals(code, 2, stderr);
      assertStringIncludes(stderr, said);
    }
    assertEquals([...Deno.readDirSync(cwd)], []);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
