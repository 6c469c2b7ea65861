import { assert, assertEquals } from "@std/assert";
import { bubblewrap, landlock, Sandbox, type SandboxPolicy, type SandboxProvider } from "../../src/sandbox/mod.ts";
import { type Escape, ESCAPES } from "./escapes.ts";
import { canBubblewrap, canLandlock } from "./host.ts";
import { Listeners } from "./listeners.ts";
import { Stage } from "./stage.ts";

const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;
/** Small, so that what must not fit can be tried. */
const LIMITS = {
  processes: 60,
  memoryBytes: 256 * 1024 * 1024,
  tmpBytes: 8 * 1024 * 1024,
  timeMs: 60_000,
  outputBytes: 8 * 1024 * 1024,
};

/** What a server has among its variables. */
const SERVER_VARIABLES = {
  SERVER_KEY: "SERVER_SECRET",
  SSH_AUTH_SOCK: "/run/agent",
  PERL5OPT: "-MHoldfast",
};

/** Runs one attempt; `null` = without a sandbox. */
async function comesOut(escape: Escape, sandbox: Sandbox | null, listeners: Listeners): Promise<boolean> {
  await using stage = await Stage.make(listeners.variables, escape.script.includes("VICTIM"));
  const { sign } = escape;
  const socket = `${stage.workspace}/socket`;
  const isAtHome = "reached" in sign && sign.reached === "workspace";
  const close = isAtHome ? listeners.listenAt("workspace", socket) : null;
  try {
    const stdout = await run(escape, sandbox, stage);
    if ("reached" in sign) return await listeners.hasReceived(sign.reached, stage.mark, socket);
    return stage.shows(sign, stdout);
  } finally {
    await close?.();
  }
}

async function run(escape: Escape, sandbox: Sandbox | null, stage: Stage): Promise<string> {
  const argv = ["/bin/sh", "-c", escape.script];
  if (sandbox === null && escape.inherits) return await runInheriting(argv, stage);
  const policy: SandboxPolicy = {
    mode: sandbox === null ? "danger-full-access" : "workspace-write",
    workspace: stage.workspace,
    hidden: stage.hidden,
    environment: stage.variables,
    limits: LIMITS,
  };
  let calls: Promise<void> | null = null;
  const { stdout } = await (sandbox ?? new Sandbox()).run(argv, policy, {
    onOutput({ bytes }) {
      // One attempt waits to be called.
      const port = /PORT=(\d+)/.exec(new TextDecoder().decode(bytes));
      if (port !== null) calls ??= callUp(Number(port[1]));
    },
  });
  await calls;
  return stdout.text;
}

async function callUp(port: number): Promise<void> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
  } catch {
    // Nobody is there: in another network.
  }
}

async function runInheriting(argv: readonly string[], stage: Stage): Promise<string> {
  const home = `${stage.folder}/out`;
  await Deno.writeTextFile(`${home}/settings`, "HOME_SECRET");
  await Deno.writeTextFile(`${home}/rc`, "echo LOADED");
  const env = { ...SERVER_VARIABLES, ...stage.variables, HOME: home, BASH_ENV: `${home}/rc` };
  const [program, ...args] = argv;
  const { stdout } = await new Deno.Command(program!, { args, env, stdin: "null", stderr: "null" }).output();
  return new TextDecoder().decode(stdout);
}

function notRun(escape: Escape): boolean {
  return escape.needs === "root" && !isRoot;
}

/** Which attempts work here at all. Told once for both providers. */
let works: Promise<ReadonlySet<string>> | undefined;
function workingEscapes(): Promise<ReadonlySet<string>> {
  return works ??= (async () => {
    await using listeners = await Listeners.open();
    const tried = ESCAPES.filter((each) => !notRun(each));
    const outcomes = await inParallel(tried, (escape) => comesOut(escape, null, listeners));
    const found = new Set(tried.filter((_, index) => outcomes[index]).map(({ name }) => name));
    const failed = tried.filter((_, index) => !outcomes[index]).map(({ name }) => name);
    const withoutLuck = ESCAPES.filter(({ name, needs }) => failed.includes(name) && needs !== "luck");
    assertEquals(withoutLuck.map(({ name }) => name), [], "these should work without a sandbox");
    const left = [...failed, ...ESCAPES.filter(notRun).map(({ name }) => name)];
    if (left.length > 0) {
      console.log(`${left.length} cases not run: this host does not let them work at all (${left.join(", ")})`);
    }
    return found;
  })();
}

/** How many attempts run at once: most of their time is spent waiting for processes to start. */
const PARALLEL = 4;

async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const left = [...items.entries()].values();
  const walk = async () => {
    for (const [index, item] of left) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, walk));
  return results;
}

/** What comes out of a provider's sandbox, of all that works. */
async function escapesFrom(provider: SandboxProvider) {
  const working = await workingEscapes();
  const sandbox = new Sandbox({ providers: [provider] });
  const out: Escape[] = [];
  const held: Escape[] = [];
  await using listeners = await Listeners.open();
  for (const [name, value] of Object.entries(SERVER_VARIABLES)) Deno.env.set(name, value);
  try {
    const tried = ESCAPES.filter(({ name }) => working.has(name));
    const outcomes = await inParallel(tried, (escape) => comesOut(escape, sandbox, listeners));
    for (const [index, escape] of tried.entries()) (outcomes[index] ? out : held).push(escape);
  } finally {
    for (const name of Object.keys(SERVER_VARIABLES)) Deno.env.delete(name);
  }
  await using stage = await Stage.make({}, false);
  const policy: SandboxPolicy = {
    mode: "workspace-write",
    workspace: stage.workspace,
    hidden: stage.hidden,
    limits: LIMITS,
  };
  const { report } = await sandbox.confine(["true"], policy);
  return { out, held, enforcement: report.enforcement! };
}

const named = (escapes: readonly Escape[]) => escapes.map(({ dimension, name }) => `${dimension}: ${name}`);

Deno.test("the escapes are many, in every dimension, each under a name of its own", () => {
  assertEquals(new Set(ESCAPES.map(({ name }) => name)).size, ESCAPES.length);
  assert(ESCAPES.length >= 60);
  for (const dimension of ["files", "network", "processes", "environment"]) {
    assert(ESCAPES.filter((escape) => escape.dimension === dimension).length >= 8, dimension);
  }
});

Deno.test({
  name: "every escape works without a sandbox, and none gets out of bubblewrap, which reports every dimension as full",
  ignore: !canBubblewrap,
  async fn() {
    const { out, held, enforcement } = await escapesFrom(bubblewrap());
    assertEquals(named(out), []);
    assert(held.length >= 60, `only ${held.length} work here`);
    for (const [dimension, level] of Object.entries(enforcement)) {
      // A bound on processes takes a group of the kernel's when root runs this.
      if (dimension !== "processes" || level !== "partial") assertEquals(level, "full", dimension);
    }
  },
});

Deno.test({
  name: "what gets out of Landlock is declared, and its dimension is reported as partial; nothing else gets out",
  ignore: !canLandlock,
  async fn() {
    const { out, held, enforcement } = await escapesFrom(landlock());
    assertEquals(named(out.filter((escape) => escape.landlock === "held")), []);
    assertEquals(named(held.filter((escape) => escape.landlock === "out")), [], "declared as out, and held");
    assertEquals(named(out.filter(({ dimension }) => enforcement[dimension] === "full")), [], "reported as full");
    assertEquals(out.some(({ dimension }) => dimension === "files"), enforcement.files === "partial");
    assertEquals(out.some(({ dimension }) => dimension === "processes"), enforcement.processes === "partial");
  },
});
