import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SandboxUnavailableError } from "../../src/errors.ts";
import { commandDoor } from "../../src/server/door.ts";
import {
  bubblewrap,
  landlock,
  NotSpawnedError,
  runProcess,
  runShell,
  Sandbox,
  type SandboxProvider,
} from "../../src/sandbox/mod.ts";
import { canBubblewrap, canLandlock } from "./host.ts";
import { Workspace } from "./workspace.ts";

// Its limit of processes counts those of the user where nothing confines, and would end the attempts early.
const base: SandboxProvider = { ...bubblewrap(), countsOwnProcesses: false };
const plain = (argv: readonly string[]) => ({
  argv,
  input: null,
  holdsInput: false,
  environment: { PATH: "/usr/bin:/bin" },
});

/** Ways in which a provider fails, and what is said about each. */
const FAILURES: readonly [name: string, provider: SandboxProvider, said: string][] = [
  ["its program is not there", bubblewrap({ program: "no-such-program" }), "bubblewrap: "],
  ["its program cannot be run", bubblewrap({ program: "/etc/passwd" }), "bubblewrap: "],
  ["its program is another", bubblewrap({ program: "/bin/false" }), "bubblewrap: "],
  ["it is not prepared", { ...base, prepare: () => Promise.reject(new Error("no kernel for it")) }, "no kernel for it"],
  ["it throws", {
    ...base,
    wrap: () => {
      throw new Error("out of words");
    },
  }, "out of words"],
  ["it gives no command line", { ...base, wrap: () => plain([]) }, "bubblewrap: "],
  ["its runner refuses", { ...base, wrap: () => plain(["/bin/sh", "-c", "echo bwrap: no >&2; exit 1"]) }, "bwrap: no"],
  ["its runner says nothing", { ...base, wrap: () => plain(["/bin/false"]) }, "its runner ended with 1"],
  ["its runner ends well and starts nothing", { ...base, wrap: () => plain(["/bin/true"]) }, "its runner ended with 0"],
  ["its runner is killed", { ...base, wrap: () => plain(["/bin/sh", "-c", "kill -9 $$"]) }, "SIGKILL"],
  [
    "it runs something else",
    // What sets the limits and says the token, and then another command.
    { ...base, wrap: (argv) => plain([...argv.slice(0, 7), "/bin/true"]) },
    "could not try everything",
  ],
  ["it confines nothing", { ...base, wrap: plain }, "was not refused"],
  [
    "it confines nothing in workspace-write",
    { ...base, wrap: (argv, policy) => policy.mode === "read-only" ? base.wrap(argv, policy) : plain(argv) },
    "was not refused",
  ],
  [
    "it confines nothing in read-only",
    {
      ...base,
      wrap: (argv, policy) =>
        base.wrap(argv, policy.mode === "read-only" ? { ...policy, mode: "workspace-write" } : policy),
    },
    "was not refused in read-only",
  ],
  [
    "it lets nobody write",
    { ...base, wrap: (argv, policy) => base.wrap(argv, { ...policy, mode: "read-only" }) },
    "refused too",
  ],
  ["its Deno is not there", landlock({ deno: "/no/such/deno" }), "/no/such/deno"],
  [
    "its launcher is not there",
    landlock({ modules: { supervisor: "/no/such.ts", launcher: "/no/such.ts" } }),
    "/no/such.ts",
  ],
  [
    "its supervisor is not there",
    landlock({
      modules: {
        supervisor: "/no/such.ts",
        launcher: new URL("../../src/sandbox/landlock_launcher.ts", import.meta.url).pathname,
      },
    }),
    "landlock: ",
  ],
];

for (const [name, provider, said] of FAILURES) {
  Deno.test({
    name: `a provider fails because ${name}: SANDBOX_UNAVAILABLE, and the command is not started`,
    ignore: !canBubblewrap,
    async fn() {
      await using workspace = await Workspace.make();
      const spawned: string[] = [];
      const sandbox = new Sandbox({
        providers: [provider],
        runProcess: (plan, options) => (spawned.push(plan.argv.join(" ")), runProcess(plan, options)),
      });
      const command = ["/bin/sh", "-c", `echo x >${workspace.beside}/started`];
      const error = await assertRejects(
        () => sandbox.run(command, { mode: "workspace-write", workspace: workspace.root }),
        SandboxUnavailableError,
      );
      assertStringIncludes(error.message, said);
      assertEquals(spawned.filter((line) => line.includes("beside/started")), []);
      assert(!workspace.has("beside/started"));
    },
  });
}

Deno.test({
  name:
    "field/C10: a bwrap that is there and always fails is found out by a run that is confined, once, and whoever asks is told",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const program = `${workspace.beside}/bwrap`;
    const script =
      `#!/bin/sh\n[ "$1" = --help ] && exec bwrap --help\necho "bwrap: no permission to make namespaces" >&2\nexit 1\n`;
    await Deno.writeTextFile(program, script, { mode: 0o755 });
    const policy = { mode: "workspace-write" as const, workspace: workspace.root };
    let runs = 0;
    const watched: typeof runProcess = (plan, options) => (runs++, runProcess(plan, options));
    const broken = new Sandbox({ providers: [bubblewrap({ program })], runProcess: watched });
    const command = ["/bin/sh", "-c", "echo x >started"];
    await assertRejects(() => broken.run(command, policy), SandboxUnavailableError, "no permission to make namespaces");
    assertEquals([runs, workspace.has("ws/started")], [1, false]);
    // This is what `doctor` prints.
    const state = await commandDoor({ sandbox: broken, workspace: workspace.root }).state("workspace-write");
    assertEquals(state.provider, null);
    assertStringIncludes(state.reason!, "bubblewrap: bwrap: no permission to make namespaces");

    // The next one works. Both were tried once, and the second command is not kept waiting.
    runs = 0;
    const next = new Sandbox({ providers: [bubblewrap({ program }), bubblewrap()], runProcess: watched });
    assertEquals((await next.run(command, policy)).report.provider, "bubblewrap");
    const afterFirst = runs;
    assertEquals((await next.run(command, policy)).exitCode, 0);
    assertEquals(runs, afterFirst + 1);
  },
});

Deno.test({
  name: "the next provider is taken when one fails, and all reasons are told when every one does",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const missing = bubblewrap({ program: "no-such-program" });
    const policy = { workspace: workspace.root };
    const both = new Sandbox({ providers: [missing, bubblewrap()] });
    assertEquals((await both.confine(["true"], policy)).report.provider, "bubblewrap");
    const none = new Sandbox({ providers: [missing, landlock({ deno: "/no/such/deno" })] });
    const found = await none.describe(policy);
    assert("reason" in found);
    assertStringIncludes(found.reason, "bubblewrap: ");
    assertStringIncludes(found.reason, "landlock: ");
  },
});

Deno.test({
  name: "that nothing works is not remembered; that something works is, until its runner fails",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    let isThere = false;
    let probes = 0;
    const real = bubblewrap();
    const coming: SandboxProvider = {
      ...real,
      prepare(host) {
        probes++;
        return isThere ? real.prepare!(host) : Promise.reject(new Error("not installed"));
      },
    };
    const sandbox = new Sandbox({ providers: [coming] });
    const policy = { workspace: workspace.root };
    await assertRejects(() => sandbox.run(["true"], policy), SandboxUnavailableError, "not installed");
    isThere = true;
    assertEquals((await sandbox.run(["true"], policy)).exitCode, 0);
    assertEquals((await sandbox.run(["true"], policy)).exitCode, 0);
    assertEquals(probes, 2);
  },
});

Deno.test({
  name: "a runner that cannot be spawned any more is SANDBOX_UNAVAILABLE, and is probed anew",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    let isGone = false;
    let scripts = 0;
    const sandbox = new Sandbox({
      providers: [bubblewrap()],
      runProcess: (plan, options) =>
        isGone ? Promise.reject(new NotSpawnedError("no such program")) : runProcess(plan, options),
      runShell: (script, args) => (scripts++, runShell(script, args)),
    });
    const policy = { workspace: workspace.root };
    await sandbox.run(["true"], policy);
    const before = scripts;
    isGone = true;
    await assertRejects(() => sandbox.run(["true"], policy), SandboxUnavailableError, "could not be started");
    isGone = false;
    assertEquals((await sandbox.run(["true"], policy)).exitCode, 0);
    assert(scripts > before, "it was not probed anew");
  },
});

Deno.test({
  name: "what goes wrong while a command runs is not told as if it had not been started",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    let isBroken = false;
    const sandbox = new Sandbox({
      providers: [bubblewrap()],
      async runProcess(plan, options) {
        const end = await runProcess(plan, options);
        if (isBroken) throw new RangeError("a fault of ours");
        return end;
      },
    });
    const policy = { mode: "workspace-write" as const, workspace: workspace.root };
    await sandbox.run(["true"], policy);
    isBroken = true;
    await assertRejects(() => sandbox.run(["/bin/sh", "-c", "echo x >file"], policy), RangeError, "a fault of ours");
    assert(workspace.has("ws/file"));
  },
});

Deno.test({
  name:
    "Landlock refuses a workspace that holds a part of itself: the command could change what runs before the next one",
  ignore: !canLandlock,
  async fn() {
    const launcher = new URL("../../src/sandbox/landlock_launcher.ts", import.meta.url).pathname;
    const sandbox = new Sandbox({ providers: [landlock()] });
    const folder = launcher.slice(0, launcher.lastIndexOf("/"));
    await assertRejects(
      () => sandbox.confine(["true"], { mode: "workspace-write", workspace: folder }),
      SandboxUnavailableError,
      "part of the sandbox itself",
    );
    assertEquals((await sandbox.confine(["true"], { workspace: folder })).report.provider, "landlock");
  },
});

Deno.test({
  name: "no program of ours is looked for on the server's PATH, which may hold a folder that commands write",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const planted = `${workspace.root}/bin`;
    await Deno.mkdir(planted);
    for (
      const name of ["bwrap", "mkdir", "rmdir", "id", "mktemp", "sleep", "rm", "cat", "sed", "env", "readlink", "chmod"]
    ) {
      const script = `#!/bin/sh\ntouch "${workspace.beside}/${name}"\n`;
      await Deno.writeTextFile(`${planted}/${name}`, script, { mode: 0o755 });
    }
    const path = Deno.env.get("PATH")!;
    Deno.env.set("PATH", `${planted}:${path}`);
    try {
      for (const providers of [[bubblewrap()], ...(canLandlock ? [[landlock()]] : [])]) {
        const sandbox = new Sandbox({ providers });
        const controller = new AbortController();
        const policy = { mode: "workspace-write" as const, workspace: workspace.root };
        const end = await sandbox.run(["/bin/sh", "-c", "echo $PATH; while :; do :; done"], policy, {
          signal: controller.signal,
          onOutput: () => controller.abort(),
        });
        assertEquals([end.ending, end.stdout.text], ["cancelled", `${planted}:${path}\n`]);
      }
      assertEquals([...Deno.readDirSync(workspace.beside)].map(({ name }) => name), []);
    } finally {
      Deno.env.set("PATH", path);
    }
  },
});

Deno.test({
  name: "the sandbox works for a server with narrow permissions: to start a shell, and to look at its workspace",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-check",
        "--no-prompt",
        "--allow-run=/bin/sh",
        `--allow-read=${workspace.root}`,
        "--allow-env=PATH,LANG,HOME",
        new URL("server_with_little.ts", import.meta.url).href,
        workspace.root,
      ],
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    assertEquals(code, 0, decoder.decode(stderr));
    assertEquals(JSON.parse(decoder.decode(stdout)), {
      exitCode: 0,
      stdout: "ran\n",
      provider: "bubblewrap",
      isDead: true,
    });
    assert(workspace.has("ws/file"));
  },
});
