import { assert, assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { findBun } from "../support/bun.ts";
import { findNode, findOldestNode } from "../support/node.ts";
import { fromFileUrl } from "../support/paths.ts";
import { OPTIONAL_PEERS } from "../tasks/optional_peers.ts";
import { DEPENDENCIES, install, NODE_TYPES, npmVersion, packagesOf, run, TYPESCRIPT } from "./npm.ts";
import { importsOf, pack, type Packed } from "./packed.ts";
import { buildPages, paysOnce, writesAndReadsBack } from "./vite_page.ts";

/** The only exports that may reach `node:`: a bundler for pages never meets them. */
const NODE_EXPORTS: readonly string[] = ["./file", "./sqlite", "./postgres", "./tools"];
/** The exports whose types name what `node:fs` has, so that whoever compiles against them needs the types of Node. */
const NODE_TYPED_EXPORTS: readonly string[] = ["./tools"];
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
        "14 cases not run: npm is not on the PATH (the package in Node and Bun, in types, in pages that Vite builds)",
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
    const runtimes: [string, () => Promise<string>][] = [["Node", findNode], [
      "the oldest Node it promises",
      findOldestNode,
    ]];
    const bun = await findBun().catch(() => null);
    if (bun === null) console.log("2 cases not run: there is no Bun (the package in Bun)");
    else runtimes.push(["Bun", () => Promise.resolve(bun)]);
    for (const [what, find] of runtimes) {
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
    await install(project, [TYPESCRIPT]);
    for (const resolution of ["bundler", "nodenext"]) {
      await t.step(`tsc says the same with moduleResolution ${resolution}, for every export`, async () => {
        const portable = Object.keys(packed.config.exports).filter((path) => !NODE_TYPED_EXPORTS.includes(path));
        await typeCheck(project, resolution, portable, []);
      });
    }
    await install(project, [NODE_TYPES]);
    await t.step("tsc says the same of the exports that name what Node has, with the types of Node", async () => {
      await typeCheck(project, "nodenext", NODE_TYPED_EXPORTS, ["node"]);
    });
    const dist = await buildPages(`${work}/vite`, packed.tarball);
    await t.step("a page built by Vite writes a session in a worker, and reads it back after a reload", async () => {
      await writesAndReadsBack(dist, `${work}/profile`);
    });
    await t.step(
      "a page built by Vite asks, pays once, and has what was said after a reload (./client, ./worker)",
      async () => {
        await paysOnce(dist, `${work}/profile-2`);
      },
    );
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

/** Checks `types.ts` and an import of every path with the compiler that most projects use. */
async function typeCheck(
  project: string,
  moduleResolution: string,
  paths: readonly string[],
  types: readonly string[],
): Promise<void> {
  const uses = paths.map((path, index) =>
    `import * as e${index} from "@holdfast/holdfast${path.slice(1)}"; export type E${index} = keyof typeof e${index};`
  );
  await Deno.writeTextFile(`${project}/every.ts`, uses.join("\n"));
  const module_ = moduleResolution === "bundler" ? "esnext" : moduleResolution;
  const lib = ["esnext", "dom", "dom.iterable", "dom.asynciterable"];
  const compilerOptions = {
    noEmit: true,
    strict: true,
    target: "esnext",
    lib,
    types,
    module: module_,
    moduleResolution,
  };
  const config = { compilerOptions, files: ["types.ts", "every.ts"] };
  await Deno.writeTextFile(`${project}/tsconfig.json`, JSON.stringify(config));
  await run(await findNode(), ["node_modules/typescript/lib/tsc.js"], project);
}

async function killedInsideAnEffect(project: string, runtime: string): Promise<void> {
  const root = `root-${crypto.randomUUID()}`;
  const paying = await new Deno.Command(runtime, { args: ["agent.mjs", "pay", root], cwd: project, stderr: "inherit" })
    .output();
  assertEquals([paying.signal, paying.stdout.length], ["SIGKILL", 0]);
  const bank = () => Deno.readTextFileSync(`${project}/${root}-bank.txt`).trimEnd().split("\n");
  assertEquals(bank().map((line) => line.split(" ")[1]), ["alice"]);
  assert(/^[0-9a-f]{32} /.test(bank()[0]!), `the body ran under the key "${bank()[0]}"`);

  const { session, ...said } = JSON.parse(await run(runtime, ["agent.mjs", "resume", root], project));
  assert(typeof session === "string");
  const settled = { calls: [["pay", "outcome_unknown"]], verdicts: ["happened"], unresolved: 0, reason: "completed" };
  assertEquals(said, settled);
  // Alice was paid once, under one key; bob by the turn after.
  assertEquals(bank().map((line) => line.split(" ")[1]), ["alice", "bob"]);
}
