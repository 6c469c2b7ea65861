import { assert, assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { findNode, findOldestNode } from "../support/node.ts";
import { fromFileUrl } from "../support/paths.ts";
import { OPTIONAL_PEERS } from "../tasks/optional_peers.ts";
import { DEPENDENCIES, install, npmVersion, packagesOf, run } from "./npm.ts";
import { importsOf, pack, type Packed } from "./packed.ts";
import { writesAndReadsBack } from "./vite_page.ts";

/** The only exports that may reach `node:`: a bundler for pages never meets them. */
const NODE_EXPORTS: readonly string[] = ["./file", "./sqlite", "./postgres", "./tools"];
/** The exports that need a package which is not installed with ours. */
const PEER_EXPORTS: readonly string[] = ["./mcp", "./otel", "./postgres"];

Deno.test("the package of `deno task pack`", async (t) => {
  const work = await Deno.makeTempDir({ prefix: "holdfast-package-" });
  try {
    const packed = await pack(work);
    await t.step("has every export of deno.json, with types, and no file that only this repository uses", () => {
      checkExports(packed);
    });
    await t.step("imports only what it has, what it depends on, and `node:` where a file store is", () => {
      checkImports(packed);
    });
    if (await npmVersion() === null) {
      console.log(
        "9 cases not run: npm is not on the PATH (the package in Node, in types, in a page that Vite builds)",
      );
      return;
    }
    const project = await makeProject(work, packed);
    await t.step("is installed by npm with its dependencies and nothing else", async () => {
      const installed = Object.keys(JSON.parse(await Deno.readTextFile(`${project}/package-lock.json`)).packages)
        .filter((path) => path !== "").map((path) => path.replace("node_modules/", ""));
      assertEquals(installed.sort(), [packed.json.name, ...Object.keys(packed.json.dependencies ?? {})].sort());
    });
    await t.step("without its optional peers every export but those that need them can be imported", async () => {
      const counts = await exportCounts(await findNode(), project);
      const missing = Object.entries(counts).filter(([, count]) => typeof count === "string");
      assertEquals(missing.map(([path]) => path).sort(), [...PEER_EXPORTS].sort());
      for (const [path, message] of missing) {
        assert(OPTIONAL_PEERS.some((name) => String(message).includes(name)), `${path}: ${message}`);
      }
    });
    await install(project, await packagesOf(OPTIONAL_PEERS));
    await t.step("an MCP server is called from Node, and its call is measured", async () => {
      assertEquals(JSON.parse(await run(await findNode(), ["mcp.mjs"], project)), {
        reason: "completed",
        result: "paid alice",
        spans: ["turn", "barrier", "step", "barrier", "request", "call", "barrier", "barrier", "barrier"].map((name) =>
          `holdfast.${name}`
        ),
      });
    });
    for (const [what, find] of [["Node", findNode], ["the oldest Node it promises", findOldestNode]] as const) {
      await t.step(`every export can be imported in ${what}`, async () => {
        const counts = await exportCounts(await find(), project);
        assertEquals(Object.keys(counts).sort(), Object.keys(packed.config.exports).sort());
        for (const [path, count] of Object.entries(counts)) {
          assert(typeof count === "number" && count > 0, `${path} exports nothing: ${count}`);
        }
      });
      await t.step(`an agent in ${what} is killed inside an effect, and the next one says so and goes on`, async () => {
        await killedInsideAnEffect(project, await find());
      });
    }
    await t.step("its types are those of the sources: right uses pass, wrong ones are refused", async () => {
      await run(Deno.execPath(), ["check", "--quiet", "--node-modules-dir=manual", "--no-lock", "types.ts"], project);
    });
    await t.step("a page built by Vite writes a session in a worker, and reads it back after a reload", async () => {
      await writesAndReadsBack(work, packed.tarball);
    });
  } finally {
    await Deno.remove(work, { recursive: true });
  }
});

/** How many names each export has, or why it cannot be imported. */
async function exportCounts(node: string, project: string): Promise<Record<string, number | string>> {
  return JSON.parse(await run(node, ["exports.mjs"], project));
}

function checkExports({ files, json, config }: Packed): void {
  assertEquals([json.name, json.version], [config.name, config.version]);
  assertEquals(Object.keys(json.exports).sort(), Object.keys(config.exports).sort());
  for (const [path, source] of Object.entries(config.exports)) {
    const { types, import: code } = json.exports[path]!;
    // Without types the package is packed all the same, and its users get `any`.
    assertEquals(types, source.replace(/\.tsx?$/, ".d.ts"), `the types of ${path}`);
    assertEquals(code, source.replace(/\.tsx?$/, ".js"));
    for (const file of [types!, code]) assert(files.includes(file.replace("./", "")), `${file} is missing`);
  }
  for (const file of ["README.md", "LICENSE"]) assert(files.includes(file), `${file} is missing`);
  assertEquals(files.filter((file) => /^(tests|bench|\.ci|dist|web\/(dist|page)|src\/(cli|server))\//.test(file)), []);
  assertEquals(files.filter((file) => /(^|\/)(deno\.(json|lock)|\.[^/]*)$/.test(file)), []);
}

function checkImports({ folder, files, json }: Packed): void {
  const dependencies = Object.keys(json.dependencies ?? {}).sort();
  assertEquals(dependencies.filter((name) => !DEPENDENCIES.includes(name)), []);
  assertEquals(Object.keys(json.peerDependencies ?? {}).sort(), [...OPTIONAL_PEERS].sort());
  assert(
    OPTIONAL_PEERS.every((name) => json.peerDependenciesMeta?.[name]?.optional === true),
    "a peer is not optional",
  );
  const used = new Set<string>();
  for (const file of files.filter((file) => /\.(js|d\.ts)$/.test(file))) {
    for (const specifier of importsOf(Deno.readTextFileSync(join(folder, file)))) {
      if (specifier.startsWith(".")) {
        const target = join(dirname(file), specifier);
        const wanted = file.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target;
        assert(files.includes(wanted), `${file} imports ${specifier}, and the package has no ${wanted}`);
      } else if (!specifier.startsWith("node:")) used.add(packageOf(specifier));
    }
  }
  assertEquals([...used].sort(), [...dependencies, ...OPTIONAL_PEERS].sort());
  for (const [path, { import: entry }] of Object.entries(json.exports)) {
    const found = reached(folder, entry.replace("./", ""));
    const nodeImports = found.filter((each) => each.startsWith("node:"));
    assert(nodeImports.length === 0 || NODE_EXPORTS.includes(path), `${path} reaches ${nodeImports.join()}`);
    const peers = found.filter((each) => OPTIONAL_PEERS.includes(packageOf(each)));
    assert(peers.length === 0 || PEER_EXPORTS.includes(path), `${path} reaches ${peers.join()}`);
  }
}

/** `@scope/name/part` → `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Everything that a module of the package reaches, files and others. */
function reached(folder: string, entry: string): string[] {
  const found = new Set([entry]);
  for (const file of found) {
    if (!file.endsWith(".js")) continue;
    for (const specifier of importsOf(Deno.readTextFileSync(join(folder, file)))) {
      found.add(specifier.startsWith(".") ? join(dirname(file), specifier) : specifier);
    }
  }
  return [...found];
}

async function makeProject(work: string, { tarball }: Packed): Promise<string> {
  const project = `${work}/project`;
  await Deno.mkdir(project);
  await Deno.writeTextFile(`${project}/package.json`, '{"private":true,"type":"module"}');
  for (const file of ["agent.mjs", "exports.mjs", "mcp.mjs", "types.ts"]) {
    await Deno.copyFile(fromFileUrl(new URL(`project/${file}`, import.meta.url)), `${project}/${file}`);
  }
  await install(project, [tarball]);
  return project;
}

async function killedInsideAnEffect(project: string, node: string): Promise<void> {
  const root = `root-${crypto.randomUUID()}`;
  const child = new Deno.Command(node, {
    args: ["agent.mjs", "pay", root],
    cwd: project,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await lines.read();
  child.kill("SIGKILL");
  await child.status;
  await lines.cancel();
  const { session, effectKey } = JSON.parse(value) as { session: string; effectKey: string };
  assert(/^[0-9a-f]{32}$/.test(effectKey), `the body ran under the key "${effectKey}"`);

  const resumed = JSON.parse(await run(node, ["agent.mjs", "resume", root], project)) as {
    session: string;
    calls: { name: string; class: string }[];
    reason: string;
  };
  assertEquals(resumed.session, session);
  assertEquals(resumed.calls.map((call) => [call.name, call.class]), [["pay", "outcome_unknown"]]);
  assertEquals(resumed.reason, "completed");
}
