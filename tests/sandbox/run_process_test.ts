import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  bubblewrap,
  KEPT_BYTES,
  landlock,
  NotSpawnedError,
  type ProcessPlan,
  runProcess,
  Sandbox,
} from "../../src/sandbox/mod.ts";
import { canBubblewrap, canLandlock } from "./host.ts";
import { resolved, Workspace } from "./workspace.ts";
import { limitsOf } from "../../src/sandbox/policy.ts";

function plan(script: string, more: Partial<ProcessPlan> = {}): ProcessPlan {
  return {
    argv: ["/bin/sh", "-c", script],
    environment: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    input: null,
    holdsInput: false,
    startToken: null,
    cgroups: [],
    timeMs: 60_000,
    outputBytes: 1024 * 1024,
    ...more,
  };
}

Deno.test("runProcess() returns exit code, both streams and the signal that ended it", async () => {
  const end = await runProcess(plan("echo out; echo err >&2; exit 7"));
  assertEquals([end.exitCode, end.signal, end.ending, end.hasStarted], [7, null, "exited", true]);
  assertEquals([end.stdout.text, end.stderr.text], ["out\n", "err\n"]);
  const killed = await runProcess(plan("kill -TERM $$"));
  assertEquals([killed.exitCode, killed.signal, killed.ending], [null, "SIGTERM", "exited"]);
});

Deno.test("runProcess() gives the process the variables of the plan and nothing to read", async () => {
  Deno.env.set("HOLDFAST_TEST_LEAK", "1");
  try {
    const { stdout } = await runProcess(plan("env; cat", { environment: { PATH: "/usr/bin:/bin", OWN: "yes" } }));
    const names = stdout.text.trim().split("\n").map((line) => line.split("=")[0]).sort();
    assertEquals(names.filter((name) => !["PWD", "SHLVL", "_", "OLDPWD"].includes(name!)), ["OWN", "PATH"]);
  } finally {
    Deno.env.delete("HOLDFAST_TEST_LEAK");
  }
});

Deno.test("runProcess() streams output as it comes, waits for whoever takes it, and survives a watcher that throws", async () => {
  await using workspace = await Workspace.make();
  const seen: string[] = [];
  const fifo = `${workspace.folder}/go`;
  await new Deno.Command("mkfifo", { args: [fifo] }).output();
  const end = await runProcess(plan(`echo first; read -r line <${fifo}; echo "$line"`), {
    async onOutput({ stream, bytes }) {
      seen.push(`${stream} ${new TextDecoder().decode(bytes).trim()}`);
      // The process goes on only because its first line has arrived here.
      if (seen.length === 1) await Deno.writeTextFile(fifo, "second\n");
      throw new Error("a watcher changes nothing");
    },
  });
  assertEquals([seen, end.exitCode], [["stdout first", "stdout second"], 0]);
});

Deno.test("runProcess() ends a process at its bound of output, and passes on not a byte more", async () => {
  let sizeBytes = 0;
  const end = await runProcess(
    plan("while :; do echo 0123456789; echo 0123456789 >&2; done", { outputBytes: 200_000 }),
    {
      onOutput: ({ bytes }) => void (sizeBytes += bytes.length),
    },
  );
  assertEquals([end.ending, sizeBytes], ["output-limit", 200_000]);
  assert(end.stdout.isCut && end.stdout.text.length < KEPT_BYTES + 100);
  assertStringIncludes(end.stdout.text, "bytes left out]");
});

Deno.test("runProcess() spawns nothing when it is cancelled already", async () => {
  await using workspace = await Workspace.make();
  const end = await runProcess(plan(`touch ${workspace.folder}/made`), { signal: AbortSignal.abort() });
  assertEquals([end.ending, end.hasStarted, workspace.has("made")], ["cancelled", false, false]);
});

Deno.test("runProcess() says when the system refused to start anything", async () => {
  await assertRejects(() => runProcess(plan("", { argv: ["/no/such/program"] })), NotSpawnedError);
});

/** Starts processes that hold a pipe open, in ways that outlive a shell; says "ready" when all have it. */
const FAMILY = (fifo: string) => `
exec 3>${fifo}
trap '' TERM HUP
sleep 600 &
(trap '' TERM; sleep 600) &
setsid sh -c 'trap "" TERM HUP; sleep 600; sleep 600' &
(setsid sh -c 'sleep 600 & sleep 600' &)
perl -MPOSIX -e 'fork and exit; POSIX::setsid(); fork and exit; $SIG{TERM} = "IGNORE"; sleep 600' &
echo ready
wait; sleep 600`;

/** Resolves when nobody has the pipe open for writing any more. */
async function allEnded(fifo: string): Promise<void> {
  await Deno.readFile(fifo);
}

type Way = (
  script: string,
  workspace: Workspace,
  options: Parameters<typeof runProcess>[1],
  timeMs?: number,
) => ReturnType<typeof runProcess>;
const confined = (sandbox: Sandbox): Way => (script, workspace, options, timeMs) =>
  sandbox.run(
    ["/bin/sh", "-c", script],
    { mode: "workspace-write", workspace: workspace.root, limits: { timeMs } },
    options,
  );

const WAYS: readonly [name: string, run: Way, canRun: boolean, holdsDaemons: boolean][] = [
  // A process that leaves its parents and its session before anybody looks is out of reach where nothing holds it.
  [
    "without a sandbox",
    (script, _, options, timeMs) => runProcess(plan(script, timeMs === undefined ? {} : { timeMs }), options),
    Deno.build.os === "linux",
    false,
  ],
  ["in bubblewrap", confined(new Sandbox({ providers: [bubblewrap()] })), canBubblewrap, true],
  ["in Landlock", confined(new Sandbox({ providers: [landlock()] })), canLandlock, true],
];

for (const [name, run, canRun, holdsDaemons] of WAYS) {
  const family = (fifo: string) => holdsDaemons ? FAMILY(fifo) : FAMILY(fifo).replace(/^(\(setsid|perl).*$/gm, "");

  for (const why of ["cancelled", "timed-out"] as const) {
    Deno.test({
      name: `${name}, a command that is ${why} ends with everything it started`,
      ignore: !canRun,
      async fn() {
        await using workspace = await Workspace.make();
        const fifo = `${workspace.root}/alive`;
        await new Deno.Command("mkfifo", { args: [fifo] }).output();
        const controller = new AbortController();
        const ended = allEnded(fifo);
        const end = await run(family(fifo), workspace, {
          signal: controller.signal,
          onOutput: () => why === "cancelled" ? controller.abort() : undefined,
        }, why === "timed-out" ? 3000 : undefined);
        assertEquals([end.ending, end.hasStarted], [why, true]);
        await ended;
      },
    });
  }

  if (holdsDaemons) {
    Deno.test({
      name: `${name}, what a command leaves behind ends with it`,
      ignore: !canRun,
      async fn() {
        await using workspace = await Workspace.make();
        const fifo = `${workspace.root}/alive`;
        await new Deno.Command("mkfifo", { args: [fifo] }).output();
        const ended = allEnded(fifo);
        const end = await run(FAMILY(fifo).replace("wait; sleep 600", "exit 5"), workspace, {});
        assertEquals([end.ending, end.exitCode], ["exited", 5]);
        await ended;
      },
    });

    Deno.test({
      name: `${name}, a command does not outlive a server that is killed`,
      ignore: !canRun,
      async fn() {
        await using workspace = await Workspace.make();
        const fifo = `${workspace.root}/alive`;
        await new Deno.Command("mkfifo", { args: [fifo] }).output();
        const ended = allEnded(fifo);
        const server = new Deno.Command(Deno.execPath(), {
          args: [
            "run",
            "-A",
            "--no-check",
            new URL("server_that_dies.ts", import.meta.url).href,
            name,
            workspace.root,
            FAMILY(fifo),
          ],
          stdin: "null",
          stdout: "piped",
          stderr: "inherit",
        }).spawn();
        const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
        assertEquals((await reader.read()).value?.trim(), "ready");
        server.kill("SIGKILL");
        await server.status;
        await reader.cancel();
        await ended;
      },
    });
  }
}

Deno.test("limitsOf() refuses bounds that are none", async () => {
  for (
    const limits of [{ timeMs: 0 }, { timeMs: 2 ** 31 }, { processes: 1.5 }, { outputBytes: -1 }, { memoryBytes: NaN }]
  ) {
    await assertRejects(() => Promise.resolve().then(() => limitsOf(limits)), RangeError, Object.keys(limits)[0]);
  }
  assertEquals(limitsOf({ timeMs: undefined }), resolved().limits);
});
