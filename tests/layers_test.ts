import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  cycleProblems,
  importProblems,
  isCore,
  isPortable,
  LAYERS,
  nameProblems,
  PORTABLE_ROOTS,
  portableProblems,
  reachable,
} from "./support/layers.ts";
import { type GraphReading, type ModuleGraph, readModuleGraph, sourceFiles } from "./support/module_graph.ts";
import { repositoryDir } from "./support/paths.ts";
import { codeOnly } from "./support/source_text.ts";

const files = ["mod.ts", ...sourceFiles("src"), ...sourceFiles("web"), ...sourceFiles("bench")];
let reading: Promise<GraphReading> | undefined;
const readGraph = () => reading ??= readModuleGraph(files);
const read = (path: string) => Deno.readTextFileSync(`${repositoryDir}/${path}`);

function expectNone(problems: readonly string[]): void {
  assert(problems.length === 0, `${problems.length} problems:\n  ${problems.join("\n  ")}`);
}

/** The files of this repository that a root reaches, itself included. */
function modulesOf(graph: ModuleGraph, root: string): string[] {
  return [...reachable(graph, root).keys()].filter((path) => graph.has(path));
}

Deno.test("every import in the sources is one that the import table allows", async () => {
  const { graph, problems } = await readGraph();
  for (const file of files) assert(graph.has(file), `${file} is not in the graph`);
  expectNone([...problems, ...importProblems(graph)]);
});

Deno.test("no file and no layer imports itself through others", async () => {
  const { graph } = await readGraph();
  expectNone(cycleProblems(graph));
});

Deno.test("the import table itself has no circle and names only layers that it has", () => {
  const table: ModuleGraph = new Map(
    Object.entries(LAYERS).map(([layer, targets]) => [
      `src/${layer}/x.ts`,
      targets.filter((target) => target !== "adapters/*" && target !== "mod")
        .map((target) => ({ target: `src/${target}/x.ts`, isTypeOnly: false })),
    ]),
  );
  expectNone(cycleProblems(table));
  for (const targets of Object.values(LAYERS)) {
    for (const target of targets) assert(target === "adapters/*" || LAYERS[target] !== undefined, target);
  }
});

Deno.test("nothing reachable from the portable roots needs Deno, Node or an unlisted package", async () => {
  const { graph } = await readGraph();
  for (const root of PORTABLE_ROOTS.filter((root) => graph.has(root))) {
    expectNone(portableProblems(graph, root));
    expectNone(modulesOf(graph, root).flatMap((path) => nameProblems(path, read(path), "portable")));
  }
});

Deno.test("portable layers never name what only Deno or Node have", () => {
  expectNone(files.filter(isPortable).flatMap((path) => nameProblems(path, read(path), "portable")));
});

Deno.test("the core never takes time, randomness, timers or the network by itself", async () => {
  const { graph } = await readGraph();
  const reached = modulesOf(graph, "mod.ts");
  const core = new Set([...reached, ...files.filter(isCore)]);
  expectNone([...core].flatMap((path) => nameProblems(path, read(path), "core")));
});

// From here on: each rule reports a made-up violation.

function graphOf(edges: Record<string, string[]>): ModuleGraph {
  return new Map(
    Object.entries(edges).map(([path, targets]) => [
      path,
      targets.map((target) => ({ target: target.replace(/^type /, ""), isTypeOnly: target.startsWith("type ") })),
    ]),
  );
}

Deno.test("importProblems() reports an import that points up, type-only ones too", () => {
  const cases: [source: string, target: string][] = [
    ["src/errors.ts", "src/event/mod.ts"],
    ["src/event/row.ts", "type src/fold/fold.ts"],
    ["src/writer/write_behind.ts", "src/session/session.ts"],
    ["src/writer/write_behind.ts", "type src/journal/append.ts"],
    ["src/session/session.ts", "src/journal/mod.ts"],
    ["src/checkpoint/barrier.ts", "src/tool/tool.ts"],
    ["src/agent/loop.ts", "src/adapters/memory/memory_storage.ts"],
    ["src/adapters/file/file_storage.ts", "src/adapters/memory/memory_storage.ts"],
    ["src/adapters/file/file_storage.ts", "type src/store/session_store.ts"],
    ["src/server/app.ts", "src/session/session.ts"],
    ["src/cli/main.ts", "src/sandbox/provider.ts"],
    ["src/cli/main.ts", "type src/event/mod.ts"],
    ["src/testing/storage_contract.ts", "src/storage/storage_port.ts"],
    ["web/page.ts", "src/errors.ts"],
    ["mod.ts", "src/entry/file.ts"],
    ["mod.ts", "src/tools/mod.ts"],
    ["src/event/row.ts", "tests/support/paths.ts"],
  ];
  for (const [source, target] of cases) {
    const problems = importProblems(graphOf({ [source]: [target] }));
    assertEquals(problems.length, 1, `${source} → ${target}: ${problems.join()}`);
    assertStringIncludes(problems[0]!, source);
  }
});

Deno.test("importProblems() reports folders outside of the layout, runtime imports and foreign packages", () => {
  assertStringIncludes(importProblems(graphOf({ "src/helpers/x.ts": [] })).join(), 'no "helpers"');
  assertStringIncludes(importProblems(graphOf({ "src/util.ts": [] })).join(), 'no "util"');
  assertStringIncludes(importProblems(graphOf({ "src/adapters/ftp/x.ts": [] })).join(), 'no "adapters/ftp"');
  assertEquals(importProblems(graphOf({ "src/frame/walk.ts": ["node:zlib"] })).length, 1);
  assertEquals(importProblems(graphOf({ "src/adapters/memory/x.ts": ["node:fs"] })).length, 1);
  assertEquals(importProblems(graphOf({ "src/event/row.ts": ["npm:fzstd@0.1.1"] })).length, 1);
  assertEquals(importProblems(graphOf({ "src/tool/schema.ts": ["npm:@cfworker/json-schema-fork@4.1.6"] })).length, 1);
  assertEquals(importProblems(graphOf({ "src/cli/main.ts": ["jsr:@std/assert@1"] })).length, 1);
});

Deno.test("importProblems() lets through what the table allows", () => {
  expectNone(importProblems(graphOf({
    "mod.ts": ["src/agent/mod.ts", "src/errors.ts", "src/journal/mod.ts"],
    "src/agent/loop.ts": ["src/agent/models/demo.ts", "src/model/model.ts", "src/checkpoint/barrier.ts"],
    "src/entry/file.ts": [
      "src/adapters/file/file_storage.ts",
      "src/frame/node_zstd.ts",
      "src/journal/mod.ts",
      "node:fs",
    ],
    "src/frame/node_zstd.ts": ["node:zlib"],
    "src/tool/parameters.ts": ["npm:@cfworker/json-schema@4.1.6"],
    "src/testing/storage_contract.ts": ["mod.ts", "type src/storage/storage_port.ts"],
    "src/cli/main.ts": ["mod.ts", "src/entry/file.ts", "src/tools/mod.ts", "src/server/app.ts"],
    "tests/layers_test.ts": ["src/frame/walk.ts", "npm:fast-check@4.10.2"],
  })));
});

Deno.test("cycleProblems() reports a circle of files in one folder and a circle of layers", () => {
  const files = graphOf({ "src/event/a.ts": ["src/event/b.ts"], "src/event/b.ts": ["type src/event/a.ts"] });
  assertEquals(cycleProblems(files), ["circle: src/event/a.ts → src/event/b.ts → src/event/a.ts"]);
  const layers = graphOf({
    "src/event/a.ts": ["src/fold/a.ts"],
    "src/fold/a.ts": [],
    "src/fold/b.ts": ["src/event/b.ts"],
    "src/event/b.ts": [],
  });
  assertEquals(cycleProblems(layers), ["circle: event → fold → event"]);
});

Deno.test("portableProblems() reports a runtime import behind others, and how it is reached", () => {
  const graph = graphOf({
    "mod.ts": ["src/frame/a.ts"],
    "src/frame/a.ts": ["src/frame/node_zstd.ts", "npm:@cfworker/json-schema@4.1.6"],
    "src/frame/node_zstd.ts": ["node:zlib"],
  });
  assertEquals(portableProblems(graph, "mod.ts"), [
    "mod.ts reaches node:zlib through src/frame/a.ts → src/frame/node_zstd.ts",
  ]);
  assertEquals(portableProblems(graphOf({ "mod.ts": ["npm:hono@4.13.19"] }), "mod.ts").length, 1);
});

Deno.test("nameProblems() reports runtime names and ambient calls, not their namesakes", () => {
  const found = (rule: "portable" | "core", source: string) => nameProblems("src/event/x.ts", source, rule).length;
  for (
    const source of ["Deno.cwd()", "process.env", "process?.exit", "new Buffer(1)", "globalThis.Deno", "typeof Deno"]
  ) {
    assertEquals(found("portable", source), 1, source);
  }
  const ambient = [
    "Date.now()",
    "new Date()",
    "new Date",
    "Math.random()",
    "setTimeout(f)",
    "setInterval (f)",
    "fetch(u)",
  ];
  for (const source of [...ambient, "globalThis.fetch", "crypto.getRandomValues(x)", "`${Date.now()}`"]) {
    assertEquals(found("core", source), 1, source);
  }
  const fine = [
    "// Date.now()",
    "/* Deno.x */",
    '"Deno.cwd()"',
    "`fetch(`",
    "options.fetch(u)",
    "new Date(5)",
    "/Deno.cwd()/",
  ];
  for (const source of [...fine, "new ArrayBuffer(1)", "const f = { fetch }", "subprocess.env", "clock.now()"]) {
    assertEquals(found("core", source) + found("portable", source), 0, source);
  }
});

Deno.test("codeOnly() blanks comments and literals and keeps every line and the code between", () => {
  const source = [
    "const a = 1 / 2; // half / done",
    'const b = "x // y" + `t ${a + "q"} u ${{ k: `n ${a}` }.k} v`;',
    "/* two",
    "lines */ const c = /[/`]'/.test(b) && a / 2 / 3;",
    "return /x/;",
  ].join("\n");
  const code = codeOnly(source);
  assertEquals(code.split("\n").length, 5);
  const squeezed = code.replace(/[ ]+/g, " ").split("\n").map((line) => line.trim());
  assertEquals(squeezed, [
    "const a = 1 / 2;",
    "const b = + {a + } {{ k: {a} }.k} ;",
    "",
    "const c = .test(b) && a / 2 / 3;",
    "return ;",
  ]);
});
