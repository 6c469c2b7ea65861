/**
 * What the launcher is made of may lie in /tmp, where commands write: they get a folder of their own there, and nothing else of it.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SandboxUnavailableError } from "../../src/errors.ts";
import { bubblewrap, type CommandEnd, landlock, Sandbox, type SandboxPolicy } from "../../src/sandbox/mod.ts";
import { landlockArguments } from "../../src/sandbox/launcher.ts";
import { PRIVATE_TMP, REMOVE_FOLDER } from "../../src/sandbox/private_tmp.ts";
import { canBubblewrap, canLandlock } from "./host.ts";
import { ModulesInTmp } from "./modules_in_tmp.ts";
import { resolved, Workspace } from "./workspace.ts";

const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;

/** Tries what must not work, and says what worked. The first argument is the launcher's folder, the second a name in /tmp. */
const ATTEMPTS = `
{
  echo x >>"$1/landlock_launcher.ts" && echo appended
  rm -f "$1/libc.ts"; [ -e "$1/libc.ts" ] || echo removed
  mv "$1/libc.ts" "$1/other.ts" && echo renamed
  cp "$1/libc.ts" "$1/landlock_supervisor.ts" && echo replaced
  echo x >"$1/new.ts" && echo made
  mv "$1" "$1.moved" && echo moved
  ln -s "$1" "$1/link" && echo linked
} 2>/dev/null
exit 0
`;

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** A workspace, a launcher in /tmp, and a way to run a script there. */
class Scene implements AsyncDisposable {
  private constructor(readonly workspace: Workspace, readonly modules: ModulesInTmp, readonly sandbox: Sandbox) {}

  static async make(kind: "landlock" | "bubblewrap" = "landlock"): Promise<Scene> {
    const modules = await ModulesInTmp.make();
    const provider = kind === "landlock" ? landlock({ modules }) : bubblewrap({ launcher: { modules } });
    return new Scene(await Workspace.make(), modules, new Sandbox({ providers: [provider] }));
  }

  run(
    script: string,
    { args = [], options, ...policy }: Partial<SandboxPolicy> & {
      args?: readonly string[];
      options?: Parameters<Sandbox["run"]>[2];
    } = {},
  ): Promise<CommandEnd> {
    const argv = ["/bin/sh", "-c", script, "script", ...args];
    return this.sandbox.run(argv, { mode: "workspace-write", workspace: this.workspace.root, ...policy }, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.modules[Symbol.asyncDispose]();
    await this.workspace[Symbol.asyncDispose]();
  }
}

Deno.test({
  name:
    "Landlock with its launcher in /tmp: a command writes its own folder there, no other place, and it is gone afterwards",
  ignore: !canLandlock,
  async fn() {
    await using scene = await Scene.make();
    const mark = `/tmp/holdfast-${crypto.randomUUID()}`;
    const script = `echo x >"$TMPDIR/file" && mkdir "$HOME/folder" && echo y >"$HOME/folder/file" && cat "$TMPDIR/file"
      file=$(mktemp) && echo z >"$file" && echo "file=$file"
      echo "tmp=$TMPDIR home=$HOME"; echo x >"$1" || echo refused; echo x >file`;
    const end = await scene.run(script, { args: [mark] });
    assertEquals(end.exitCode, 0, end.stderr.text);
    const [, tmp, home] = /^tmp=(\S+) home=(\S+)$/m.exec(end.stdout.text)!;
    assert(/^\/tmp\/holdfast-[0-9a-f-]{36}$/.test(tmp!), tmp);
    assertEquals(home, tmp);
    assert(end.stdout.text.startsWith("x\n") && end.stdout.text.includes(`file=${tmp}/`), end.stdout.text);
    assertStringIncludes(end.stdout.text, "refused");
    assertEquals([exists(mark), exists(tmp!), scene.workspace.has("ws/file")], [false, false, true]);
    // It cannot write the host's /tmp, so that is not told as a gap.
    assert(!end.report.gaps.some(({ what }) => what.includes("/tmp")), JSON.stringify(end.report.gaps));
    // Read-only, there is nothing to write and so no folder.
    const reading = await scene.run('echo "$TMPDIR"; echo x >"$TMPDIR/x"', { mode: "read-only" });
    assertEquals([reading.stdout.text, reading.exitCode === 0], ["/tmp\n", false]);
  },
});

for (const [kind, canRun] of [["landlock", canLandlock], ["bubblewrap", canBubblewrap && canLandlock]] as const) {
  Deno.test({
    name: `${kind} with its launcher in /tmp: no command changes or replaces a part of it`,
    ignore: !canRun,
    async fn() {
      await using scene = await Scene.make(kind);
      const before = await scene.modules.content();
      // In a /tmp of its own a command may move what lies around it: that is nobody else's.
      const around = kind === "landlock" ? 'mv "${1%/*}" "${1%/*}.moved" 2>/dev/null && echo moved\n' : "";
      const end = await scene.run(around + ATTEMPTS, { args: [scene.modules.folder] });
      assertEquals([end.exitCode, end.stdout.text], [0, ""]);
      assertEquals(await scene.modules.content(), before);
      assertEquals(end.report.provider, kind);
      // What confines the next one is what confined this one.
      const next = await scene.run("echo x >../beside/file; echo x >file");
      assertEquals([scene.workspace.has("beside/file"), scene.workspace.has("ws/file")], [false, true]);
      assertEquals(next.report, end.report);
      if (kind === "bubblewrap") assertEquals(end.report.enforcement!.files, "full");
    },
  });
}

Deno.test({
  name: "bubblewrap with its launcher in /tmp: /tmp is private, and on the host nothing is left in it",
  ignore: !canBubblewrap || !canLandlock,
  async fn() {
    await using scene = await Scene.make("bubblewrap");
    const mark = `/tmp/holdfast-${crypto.randomUUID()}`;
    const script = 'mkdir "$1" && echo x >"$1/file" && chmod 000 "$1" && echo "$TMPDIR"; mktemp; ls /tmp';
    const end = await scene.run(script, { args: [mark] });
    assertEquals(end.exitCode, 0, end.stderr.text);
    const [tmp, file, ...names] = end.stdout.text.trim().split("\n");
    assertEquals([tmp, exists(mark), exists(file!)], ["/tmp", false, false]);
    // Of the host's, only what the launcher is made of.
    const [own] = scene.modules.folder.slice("/tmp/".length).split("/");
    assertEquals(names.sort(), [own!, mark.slice("/tmp/".length), file!.slice("/tmp/".length)].sort());
  },
});

Deno.test({
  name:
    "of the folder nothing is left: folders without rights, links, very deep ones; and what links lead to stays as it is",
  ignore: !canLandlock,
  async fn() {
    await using scene = await Scene.make();
    const { workspace } = scene;
    await Deno.mkdir(`${workspace.root}/kept`);
    await Deno.writeTextFile(`${workspace.root}/kept/file`, "kept\n", { mode: 0o400 });
    await Deno.writeTextFile(`${workspace.beside}/file`, "kept\n");
    await Deno.chmod(`${workspace.root}/kept`, 0o500);
    const states = () =>
      ["ws/kept", "ws/kept/file", "beside", "beside/file"].map((path) => {
        const { mode, ino } = Deno.statSync(`${workspace.folder}/${path}`);
        return [path, mode, ino];
      });
    const before = states();
    const end = await scene.run(
      `cd "$TMPDIR" && echo "$TMPDIR"
      mkdir -p closed/inner && echo x >closed/inner/file && chmod 500 closed/inner && chmod 000 closed
      ln -s "$1/kept" folder_link; ln -s "$1/kept/file" file_link; ln -s "$1/../beside" out_link; ln -s / root_link
      ln "$1/kept/file" hard_link 2>/dev/null; mkdir up && chmod 000 up; ln -s .. up_link; mkfifo pipe
      perl -e 'for (1 .. 3000) { mkdir "deep" and chdir "deep" or last }'
      chmod 500 .`,
      { args: [workspace.root] },
    );
    assertEquals(end.exitCode, 0, end.stderr.text);
    assertEquals(exists(end.stdout.text.trim()), false);
    assertEquals(states(), before);
    assertEquals(Deno.readTextFileSync(`${workspace.root}/kept/file`), "kept\n");
  },
});

Deno.test({
  name: "what a command leaves running to change folders into links has ended before its folder is removed",
  ignore: !canLandlock,
  async fn() {
    await using scene = await Scene.make();
    await Deno.writeTextFile(`${scene.workspace.beside}/file`, "kept\n");
    const race = `cd "$TMPDIR" && mkdir a b
      for name in a b; do
        (trap '' TERM HUP; while :; do rm -rf "$name"; ln -s "$1" "$name"; rm -f "$name"; mkdir "$name"; done) 2>/dev/null >/dev/null &
        (while :; do mkdir -p "$name/c/d"; echo x >"$name/c/new"; done) 2>/dev/null >/dev/null &
      done
      echo "$TMPDIR"`;
    const end = await scene.run(race, { args: [scene.workspace.beside] });
    assertEquals(end.exitCode, 0, end.stderr.text);
    assertEquals(exists(end.stdout.text.trim()), false);
    assertEquals([...Deno.readDirSync(scene.workspace.beside)].map(({ name }) => name), ["file"]);
  },
});

for (const why of ["cancelled", "timed-out", "output-limit"] as const) {
  Deno.test({
    name: `the folder of a command that was ended (${why}) is gone too`,
    ignore: !canLandlock,
    async fn() {
      await using scene = await Scene.make();
      const controller = new AbortController();
      const last = why === "output-limit" ? "yes" : "sleep 600";
      const end = await scene.run(`mkdir "$TMPDIR/a"; echo x >"$TMPDIR/a/b"; echo "$TMPDIR"; ${last}`, {
        limits: why === "timed-out" ? { timeMs: 6000 } : { outputBytes: 100_000 },
        options: {
          signal: controller.signal,
          onOutput: () => why === "cancelled" ? controller.abort() : undefined,
        },
      });
      assertEquals(end.ending, why);
      const [tmp] = end.stdout.text.split("\n");
      assert(tmp!.startsWith("/tmp/holdfast-"));
      assertEquals(exists(tmp!), false);
    },
  });
}

Deno.test({
  name: "the folder of a command whose server was killed is gone too",
  ignore: !canLandlock,
  async fn() {
    await using scene = await Scene.make();
    const watcher = Deno.watchFs("/tmp", { recursive: false });
    const server = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", new URL("server_that_dies.ts", import.meta.url).href, "in Landlock"],
        scene.workspace.root,
        'mkdir -p "$TMPDIR/a" && chmod 500 "$TMPDIR/a" && echo "$TMPDIR"; sleep 600',
        scene.modules.folder,
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const tmp = (await reader.read()).value!.trim();
    assert(tmp.startsWith("/tmp/holdfast-") && exists(tmp), tmp);
    server.kill("SIGKILL");
    await server.status;
    await reader.cancel();
    for await (const _ of watcher) if (!exists(tmp)) break;
    assertEquals(exists(tmp), false);
  },
});

Deno.test({
  name: "a supervisor makes its folder itself, for its user alone: one that is there, or a link to one, is refused",
  ignore: !canLandlock,
  async fn() {
    await using workspace = await Workspace.make();
    const supervisor = new URL("../../src/sandbox/landlock_supervisor.ts", import.meta.url).pathname;
    const supervise = async (folder: string) => {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", supervisor, PRIVATE_TMP, folder, "/bin/sh", "-c", `ls -ld "${folder}"`],
        ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
      }).spawn().output();
      return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
    };
    await Deno.writeTextFile(`${workspace.beside}/file`, "kept\n");
    await Deno.symlink(workspace.beside, `${workspace.folder}/link`);
    await Deno.symlink("nowhere", `${workspace.folder}/broken`);
    for (const name of ["beside", "link", "broken"]) {
      const { code, text } = await supervise(`${workspace.folder}/${name}`);
      assertEquals(code, 125, text);
      assertStringIncludes(text, "landlock-run: ");
      assert(workspace.has("beside/file") && workspace.has(name));
    }
  },
});

Deno.test("landlockArguments() gives a command the folder instead of /tmp, and leaves what a policy names", () => {
  const environment = { HOME: "/own", TMPDIR: "/tmp", HOLDFAST_PRIVATE_TMP: "/etc" };
  const args = landlockArguments(["ls"], resolved({ mode: "workspace-write", environment }), "/tmp/holdfast-1");
  const granted = args.flatMap((each, at) => each === "--rw" ? [args[at + 1]] : []);
  assertEquals(granted, ["/dev/null", "/tmp/holdfast-1", "/ws"]);
  assert(args.includes("HOME=/own") && args.includes("TMPDIR=/tmp/holdfast-1"));
});

Deno.test({
  name: "no variable of the server or of a policy says which folder of /tmp a command can write",
  ignore: !canLandlock,
  async fn() {
    await using scene = await Scene.make();
    await using others = await ModulesInTmp.make();
    const script = 'echo x >"$1/new"; echo "$TMPDIR"; [ -w "$1" ] && exit 3; exit 0';
    const variables = { TMPDIR: others.folder, HOLDFAST_PRIVATE_TMP: others.folder };
    const before = Deno.env.get("TMPDIR");
    for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
    try {
      const end = await scene.run(script, { args: [others.folder], environment: variables });
      assertEquals([end.stdout.text, exists(`${others.folder}/new`)], [`${others.folder}\n`, false]);
      assertEquals(exists(others.folder), true);
    } finally {
      Deno.env.delete("HOLDFAST_PRIVATE_TMP");
      if (before === undefined) Deno.env.delete("TMPDIR");
      else Deno.env.set("TMPDIR", before);
    }
  },
});

Deno.test({
  name: "a launcher that is named by a link counts as what the link leads to",
  ignore: !canLandlock,
  async fn() {
    await using scene = await Scene.make();
    await using elsewhere = await Workspace.make();
    await Deno.symlink(scene.modules.folder, `${elsewhere.beside}/link`);
    const named = (folder: string) => ({
      supervisor: `${folder}/landlock_supervisor.ts`,
      launcher: `${folder}/landlock_launcher.ts`,
    });
    const policy = { mode: "workspace-write" as const, workspace: elsewhere.root };
    const linked = new Sandbox({ providers: [landlock({ modules: named(`${elsewhere.beside}/link`) })] });
    const before = await scene.modules.content();
    const argv = ["/bin/sh", "-c", ATTEMPTS, "attempts", scene.modules.folder];
    assertEquals((await linked.run(argv, policy)).stdout.text, "");
    assertEquals(await scene.modules.content(), before);

    // A link inside the workspace could be replaced; what runs is what it led to, and that is outside.
    await Deno.symlink(scene.modules.folder, `${elsewhere.root}/link`);
    const inside = new Sandbox({ providers: [landlock({ modules: named(`${elsewhere.root}/link`) })] });
    assertEquals((await inside.run(["/bin/sh", "-c", "rm link; mkdir link"], policy)).exitCode, 0);
    assertEquals((await inside.run(["/bin/sh", "-c", "echo x >../beside/file"], policy)).isDenied, true);
    assertEquals(elsewhere.has("beside/file"), false);

    // And a workspace that holds what the link leads to is refused, whatever the name.
    const holding = { mode: "workspace-write" as const, workspace: scene.modules.folder };
    await assertRejects(() => linked.run(["true"], holding), SandboxUnavailableError, "part of the sandbox itself");
  },
});

Deno.test({
  name: "REMOVE_FOLDER removes as a user who is bound to rights, and follows no link",
  ignore: Deno.build.os !== "linux" || (isRoot && !exists("/usr/bin/setpriv")),
  async fn() {
    await using workspace = await Workspace.make();
    // Root without its capabilities is bound to rights like everybody else.
    const bound = isRoot ? ["/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] : [];
    const run = async (script: string, ...args: string[]) => {
      const [program, ...rest] = [...bound, "/bin/sh", "-c", script, "sh", ...args];
      const { success } = await new Deno.Command(program!, { args: rest, stderr: "null" }).output();
      return success;
    };
    const folder = `${workspace.folder}/tmp`;
    await Deno.writeTextFile(`${workspace.beside}/file`, "kept\n", { mode: 0o400 });
    const made = await run(
      `mkdir -p "$1/a/b/c" && echo x >"$1/a/b/c/file" && ln -s "$2" "$1/a/b/link" && ln "$2/file" "$1/a/hard"
       chmod 500 "$1/a/b/c"; chmod 000 "$1/a/b"; chmod 400 "$1/a"; chmod 000 "$1"; chmod 555 "$2"`,
      folder,
      workspace.beside,
    );
    assert(made);
    assertEquals(await run('rm -rf "$1"', folder), false, "it is no test: anybody could remove it");
    assertEquals([await run(REMOVE_FOLDER, folder), workspace.has("tmp")], [true, false]);
    const { mode } = Deno.statSync(`${workspace.beside}/file`);
    assertEquals([mode! & 0o777, Deno.statSync(workspace.beside).mode! & 0o777], [0o400, 0o555]);
    // What is gone already is gone, and a link in its place is no folder.
    await Deno.symlink(workspace.beside, folder);
    assertEquals([await run(REMOVE_FOLDER, folder), workspace.has("tmp")], [true, false]);
    assertEquals(await run(REMOVE_FOLDER, folder), true);
    assert(workspace.has("beside/file"));
    await Deno.chmod(workspace.beside, 0o700);
  },
});
