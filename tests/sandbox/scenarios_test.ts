import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { hasCode, SandboxUnavailableError } from "../../src/errors.ts";
import {
  bubblewrap,
  landlock,
  type ProbeFacts,
  runProcess,
  Sandbox,
  type SandboxProvider,
  seatbelt,
} from "../../src/sandbox/mod.ts";
import { bubblewrapArguments } from "../../src/sandbox/bubblewrap.ts";
import { landlockArguments } from "../../src/sandbox/launcher.ts";
import { enforcementOf } from "../../src/sandbox/report.ts";
import { seatbeltProfile } from "../../src/sandbox/seatbelt.ts";
import { canBubblewrap, canLandlock } from "./host.ts";
import { resolved, Workspace } from "./workspace.ts";

/** Whether the parts stand in the list in this order; others may stand between them. */
function holdsInOrder(list: readonly string[], parts: readonly (readonly string[])[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = list.findIndex((_, index) =>
      index >= from && part.every((each, offset) => list[index + offset] === each)
    );
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

const READ_ONLY_FLAGS = [
  ["--ro-bind", "/", "/"],
  ["--dev", "/dev"],
  ["--unshare-pid"],
  ["--proc", "/proc"],
  ["--die-with-parent"],
];

Deno.test("exec/S01: read-only binds everything read-only, in the promised order, and ends with the command", () => {
  const args = bubblewrapArguments(["ls", "-l"], resolved());
  assert(holdsInOrder(args, [...READ_ONLY_FLAGS, ["--", "ls", "-l"]]), args.join(" "));
  assertEquals(args.slice(-3), ["--", "ls", "-l"]);
  assert(!args.includes("--bind"));
  const wrapped = bubblewrap({ program: "/usr/bin/bwrap", machine: "pdp11" }).wrap(["ls"], resolved());
  assertEquals(wrapped.argv.slice(0, 4), ["/usr/bin/bwrap", "--ro-bind", "/", "/"]);
});

Deno.test("exec/S02: workspace-write adds a private /tmp and then the workspace", () => {
  const args = bubblewrapArguments(["ls"], resolved({ mode: "workspace-write" }));
  assert(
    holdsInOrder(args, [...READ_ONLY_FLAGS, ["--tmpfs", "/tmp", "--bind", "/ws", "/ws"], ["--", "ls"]]),
    args.join(" "),
  );
});

Deno.test("exec/S03: the Landlock launcher is granted reading, /dev/null, and in workspace-write /tmp and the workspace", () => {
  const readOnly = landlockArguments(["ls"], resolved());
  assertEquals(readOnly.slice(0, 4), ["--ro", "/", "--rw", "/dev/null"]);
  assertEquals(readOnly.filter((each) => each === "--rw").length, 1);
  const writing = landlockArguments(["ls"], resolved({ mode: "workspace-write" }));
  assertEquals(writing.slice(0, 8), ["--ro", "/", "--rw", "/dev/null", "--rw", "/tmp", "--rw", "/ws"]);
  assertEquals(writing.slice(-2), ["--", "ls"]);
});

Deno.test("exec/S04: the Seatbelt profile denies writing and allows it again where it may be, without duplicates", () => {
  const readOnly = seatbeltProfile(resolved(), null).split("\n");
  assertEquals(readOnly.slice(1, 4), [
    "(allow default)",
    "(deny file-write*)",
    '(allow file-write* (literal "/dev/null"))',
  ]);
  assert(!readOnly.some((line) => line.startsWith("(allow file-write* (subpath")));
  const writing = resolved({ mode: "workspace-write", workspace: '/private/tmp/a"b' });
  const lines = seatbeltProfile(writing, "/private/var/folders/T").split("\n");
  const allowed = lines.filter((line) => line.startsWith("(allow file-write* (subpath"));
  assertEquals(allowed, [
    '(allow file-write* (subpath "/private/tmp/a\\"b"))',
    '(allow file-write* (subpath "/private/tmp"))',
    '(allow file-write* (subpath "/private/var/folders/T"))',
  ]);
  const same = seatbeltProfile(resolved({ mode: "workspace-write", workspace: "/private/tmp" }), "/private/tmp");
  assertEquals(same.split('(allow file-write* (subpath "/private/tmp"))').length, 2);
  // The last rule that matches wins.
  assert(lines.indexOf('(deny file-write* (subpath "/private/tmp/a\\"b/.git"))') > lines.indexOf(allowed[2]!));
  assert(lines.includes("(deny network*)"));
  assert(!seatbeltProfile(resolved({ network: "on" }), null).includes("network"));
  assertEquals(seatbelt().wrap(["ls"], resolved()).argv.slice(0, 2), ["/usr/bin/sandbox-exec", "-p"]);
});

const EVERYTHING: ProbeFacts = {
  refusesOutside: true,
  keepsProtected: true,
  hasPrivateTmp: true,
  refusesPipes: true,
  hides: true,
  keepsMetadata: true,
  refusesConnections: true,
  filtersSockets: true,
  hasPrivateProcesses: true,
  refusesSignals: true,
  hasNoPrivileges: true,
  boundsProcesses: true,
  boundsMemory: true,
  hasCleanEnvironment: true,
};

Deno.test("exec/S07: an older interface of Landlock is reported as partial, even if nothing else is missing", async () => {
  const withAbi = async (abi: string) => {
    const provider = landlock({ deno: "/usr/bin/deno", variable: () => undefined });
    const paths = (args: readonly string[]) => args.map((path) => `${path}\n`).join("");
    await provider.prepare!({ shell: (_, args) => Promise.resolve(args.includes("--abi") ? `${abi}\n` : paths(args)) });
    return enforcementOf(provider.gaps(EVERYTHING, resolved()));
  };
  assertEquals((await withAbi("2")).files, "partial");
  assertEquals([(await withAbi("5")).files, (await withAbi("5")).processes], ["full", "partial"]);
  assertEquals([(await withAbi("6")).files, (await withAbi("6")).processes], ["full", "full"]);
  await assertRejects(() => withAbi("-1"), Error, "no Landlock");
  await assertRejects(() => withAbi("exec: deno: not found"), Error, "no Landlock");
});

const PROVIDERS = [["bubblewrap", bubblewrap, canBubblewrap], ["landlock", landlock, canLandlock]] as const;

for (const [name, make, canRun] of PROVIDERS) {
  const sandbox = new Sandbox({ providers: [make()] });

  Deno.test({
    name: `exec/S08: ${name}, read-only: a write in the workspace fails, in the words that are advertised`,
    ignore: !canRun,
    async fn() {
      await using workspace = await Workspace.make();
      const policy = { workspace: workspace.root };
      const end = await sandbox.run(["/bin/sh", "-c", "echo x >file"], policy);
      assert(end.exitCode !== 0 && end.exitCode !== null);
      assert(!workspace.has("ws/file"));
      assert(end.isDenied);
      assertEquals(end.report.mode, "read-only");
      const { denialSignatures } = await sandbox.confine(["true"], policy);
      assert(denialSignatures.some((signature) => end.stderr.text.toLowerCase().includes(signature)));
    },
  });

  Deno.test({
    name: `exec/S09: ${name}, workspace-write: inside is written, beside is not`,
    ignore: !canRun,
    async fn() {
      await using workspace = await Workspace.make();
      const policy = { mode: "workspace-write" as const, workspace: workspace.root };
      const script = "echo x >file; mkdir folder && echo x >folder/file; echo x >../beside/file";
      const end = await sandbox.run(["/bin/sh", "-c", script], policy);
      assert(end.exitCode !== 0);
      assert(workspace.has("ws/file") && workspace.has("ws/folder/file") && !workspace.has("beside/file"));
      assertEquals(end.isDenied, true);
    },
  });

  Deno.test({
    name: `exec/S12: beside ${name}: danger-full-access spawns the command as it is, and says that nothing is enforced`,
    ignore: !canRun,
    async fn() {
      await using workspace = await Workspace.make();
      const spawned: (readonly string[])[] = [];
      const providers = [make()];
      const watched = new Sandbox({
        providers,
        runProcess: (plan, options) => (spawned.push(plan.argv), runProcess(plan, options)),
        runShell: () => Promise.reject(new Error("nothing is probed")),
      });
      const argv = ["/bin/sh", "-c", "echo x >../beside/file"];
      const policy = { mode: "danger-full-access" as const, workspace: workspace.root };
      const end = await watched.run(argv, policy);
      assertEquals(end.exitCode, 0);
      assert(workspace.has("beside/file"));
      assertEquals(end.report, { mode: "danger-full-access", provider: null, enforcement: null, gaps: [] });
      assertEquals(spawned, [argv]);
      await assertRejects(() => watched.confine(argv, policy), TypeError, "never confined");
    },
  });

  Deno.test({
    name: `exec/S17: beside ${name}: a runner that starts and refuses is SANDBOX_UNAVAILABLE, whatever else it says`,
    ignore: !canRun,
    async fn() {
      await using workspace = await Workspace.make();
      const real = make();
      let isBroken = false;
      const breaking: SandboxProvider = {
        ...real,
        wrap(argv, policy) {
          const wrapped = real.wrap(argv, policy);
          if (!isBroken) return wrapped;
          const said = "bwrap: setting up uid map: Permission denied\nlandlock-run: Read-only file system";
          return { ...wrapped, argv: ["/bin/sh", "-c", 'echo "$1" >&2; exit 125', "runner", said] };
        },
      };
      const broken = new Sandbox({ providers: [breaking] });
      const policy = { mode: "workspace-write" as const, workspace: workspace.root };
      const argv = ["/bin/sh", "-c", "echo x >>file"];
      assertEquals((await broken.run(argv, policy)).exitCode, 0);
      isBroken = true;
      const error = await assertRejects(() => broken.run(argv, policy), SandboxUnavailableError, "uid map");
      assert(hasCode(error, "SANDBOX_UNAVAILABLE"));
      // It is probed anew, so the next refusal is known before the command is wrapped.
      await assertRejects(() => broken.run(argv, policy), SandboxUnavailableError, "uid map");
      isBroken = false;
      assertEquals((await broken.run(argv, policy)).exitCode, 0);
      assertEquals(await Deno.readTextFile(`${workspace.root}/file`), "x\nx\n");
    },
  });

  Deno.test({
    name:
      `exec/S18: ${name}: a command that ends well after the words of a denial is not denied; nor one that only sounds like a runner`,
    ignore: !canRun,
    async fn() {
      await using workspace = await Workspace.make();
      const policy = { workspace: workspace.root };
      const words = "echo 'Read-only file system, Permission denied' >&2";
      const end = await sandbox.run(["/bin/sh", "-c", `${words}; exit 0`], policy);
      assertEquals([end.exitCode, end.isDenied], [0, false]);
      const posing = await sandbox.run(
        ["/bin/sh", "-c", "echo 'bwrap: no' >&2; echo 'landlock-run: no' >&2; exit 125"],
        policy,
      );
      assertEquals([posing.exitCode, posing.isDenied], [125, false]);
    },
  });

  Deno.test({
    name: `exec/S20: ${name}: no socket without the network's own switch, and the report says which`,
    ignore: !canRun,
    async fn() {
      await using workspace = await Workspace.make();
      const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const { port } = listener.addr;
      const accepted = (async () => {
        const messages: string[] = [];
        for await (const connection of listener) messages.push(await new Response(connection.readable).text());
        return messages;
      })();
      const send = (text: string, network: "off" | "on") => {
        const script =
          `use Socket; socket(S, AF_INET, SOCK_STREAM, 0) && connect(S, pack_sockaddr_in(${port}, INADDR_LOOPBACK)) or exit 3; syswrite(S, "${text}")`;
        return sandbox.run(["perl", "-e", script], { mode: "workspace-write", workspace: workspace.root, network });
      };
      const off = await send("off", "off");
      const on = await send("on", "on");
      listener.close();
      assertEquals(await accepted, ["on"]);
      assertEquals([off.exitCode, on.exitCode], [3, 0]);
      assertEquals([off.report.enforcement!.network, on.report.enforcement!.network], ["full", "none"]);
      assertStringIncludes(on.report.gaps.map(({ what }) => what).join(), "leaves the network on");
    },
  });
}

const bubble = new Sandbox({ providers: [bubblewrap()] });

Deno.test({
  name: "exec/S10: bubblewrap: what is written to /tmp stays inside",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const name = `/tmp/holdfast-${crypto.randomUUID()}`;
    const policy = { mode: "workspace-write" as const, workspace: workspace.root };
    const end = await bubble.run(["/bin/sh", "-c", `echo x >${name} && cat ${name}`], policy);
    assertEquals([end.exitCode, end.stdout.text], [0, "x\n"]);
    await assertRejects(() => Deno.lstat(name), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "exec/S10: a workspace below /tmp survives the private /tmp",
  ignore: !canBubblewrap,
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "holdfast-sandbox-" });
    try {
      const end = await bubble.run(["/bin/sh", "-c", "echo x >file"], { mode: "workspace-write", workspace: root });
      assertEquals([end.exitCode, await Deno.readTextFile(`${root}/file`)], [0, "x\n"]);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});

Deno.test({
  name:
    "exec/S19: bubblewrap: hooks and settings inside the workspace stay as they are; Landlock reports that it cannot",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    await Deno.mkdir(`${workspace.root}/.git/hooks`, { recursive: true });
    await Deno.writeTextFile(`${workspace.root}/.envrc`, "");
    const policy = { mode: "workspace-write" as const, workspace: workspace.root };
    const script = "echo x >.git/hooks/x; echo x >.envrc; rm -rf .git; mv .git other; echo x >file";
    const end = await bubble.run(["/bin/sh", "-c", script], policy);
    assert(!workspace.has("ws/.git/hooks/x") && workspace.has("ws/.git/hooks") && workspace.has("ws/file"));
    assertEquals(await Deno.readTextFile(`${workspace.root}/.envrc`), "");
    assertEquals([end.report.enforcement!.files, end.appeared], ["full", []]);

    if (!canLandlock) return;
    const partial = await new Sandbox({ providers: [landlock()] }).confine(["true"], policy);
    assertEquals(partial.report.enforcement!.files, "partial");
    assert(partial.report.gaps.some(({ what }) => what.includes(`${workspace.root}/.git`)));
  },
});

Deno.test({
  name:
    "exec/S19: a protected name that was not there cannot be held, so it is named afterwards; a link is reported before",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const policy = { mode: "workspace-write" as const, workspace: workspace.root };
    const end = await bubble.run(["/bin/sh", "-c", "mkdir .git"], policy);
    assertEquals(end.appeared, [".git"]);
    await Deno.symlink("elsewhere", `${workspace.root}/.husky`);
    const { report } = await bubble.confine(["true"], policy);
    assertEquals(report.enforcement!.files, "partial");
    assertStringIncludes(report.gaps.map(({ what }) => what).join(), ".husky");
  },
});

Deno.test("exec/S21: where no process can be started, nothing is confined, and the reason says so", async () => {
  const sandbox = new Sandbox({ platform: "browser" });
  await assertRejects(
    () => sandbox.confine(["ls"], { workspace: "/ws" }),
    SandboxUnavailableError,
    "cannot start processes",
  );
  const windows = new Sandbox({ platform: "windows" });
  await assertRejects(() => windows.run(["ls"], { workspace: "/ws" }), SandboxUnavailableError, "(windows)");
});

Deno.test("exec/S22: a workspace that would open the system, /tmp, /proc or the home folder is refused", async () => {
  const folders = (path: string) => path.replace(/^\/link$/, "/");
  const files = { realPath: folders, kindOf: () => "folder" as const, foldersIn: () => [] };
  const variable = (name: string) => name === "HOME" ? "/data/people/me" : undefined;
  const sandbox = new Sandbox({ providers: [bubblewrap()], platform: "linux", host: { files, variable } });
  const wide = [
    "/",
    "/link",
    "/tmp",
    "/proc",
    "/proc/self",
    "/home",
    "/root",
    "/usr",
    "/etc",
    "/sys/fs",
    "/dev",
    "/data",
    "/data/people/me",
  ];
  for (const workspace of wide) {
    await assertRejects(
      () => sandbox.confine(["ls"], { mode: "workspace-write", workspace }),
      RangeError,
      "workspace",
      workspace,
    );
  }
});

Deno.test({
  name: "bubblewrap without Landlock inside of it lets the host's pipes be written to, and reports that as partial",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const pipe = `${workspace.beside}/pipe`;
    await new Deno.Command("mkfifo", { args: [pipe] }).output();
    const policy = { workspace: workspace.root };
    const write = ["/bin/sh", "-c", `exec 3<>${pipe} && echo x >&3`];
    const bare = await new Sandbox({ providers: [bubblewrap({ launcher: null })] }).run(write, policy);
    assertEquals([bare.exitCode, bare.report.enforcement!.files], [0, "partial"]);
    assertStringIncludes(bare.report.gaps.map(({ what }) => what).join(), "pipes of the host");
    const both = await bubble.run(write, policy);
    assertEquals(
      [both.exitCode === 0, both.report.enforcement!.files],
      canLandlock ? [false, "full"] : [true, "partial"],
    );
  },
});

Deno.test({
  name:
    "bubblewrap keeps its promise honest for a workspace that holds the launcher itself: it does without, and says so",
  ignore: !canBubblewrap || !canLandlock,
  async fn() {
    const workspace = await Deno.realPath(new URL("../../src/sandbox", import.meta.url));
    const { report } = await bubble.confine(["true"], { mode: "workspace-write", workspace });
    assertEquals([report.provider, report.enforcement!.files], ["bubblewrap", "partial"]);
    assertEquals((await bubble.confine(["true"], { workspace })).report.enforcement!.files, "full");
  },
});

Deno.test({
  name: "ordinary commands work in the sandbox: output by name, pipes, temporary files, links, local servers",
  ignore: !canBubblewrap,
  async fn() {
    await using workspace = await Workspace.make();
    const script = `set -e
      echo one >/dev/stdout; echo two >/dev/stderr; echo gone >/dev/null; head -c 4 /dev/urandom | wc -c
      yes | head -n 1; file=$(mktemp); echo three >"$file"; cat "$file"; mkdir a b; echo x >a/f; mv a/f b/g; ln b/g b/h
      perl -e 'use IO::Socket; $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1"); fork or do { IO::Socket::INET->new("127.0.0.1:" . $l->sockport); exit }; print "served\n" if $l->accept'`;
    const end = await bubble.run(["/bin/sh", "-c", script], { mode: "workspace-write", workspace: workspace.root });
    assertEquals([end.exitCode, end.stderr.text], [0, "two\n"]);
    assertEquals(end.stdout.text.split("\n").map((line) => line.trim()), ["one", "4", "y", "three", "served", ""]);
  },
});
