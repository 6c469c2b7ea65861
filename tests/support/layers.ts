/**
 * The import table of the architecture as data, and what breaks it.
 *
 * Pure: a graph and source texts in, complaints out, so that a made-up graph can show that each rule can fail.
 *
 * @module
 */

import type { ModuleGraph } from "./module_graph.ts";
import { codeOnly } from "./source_text.ts";

const TYPES = ["event", "errors"];
const SESSION = ["writer", "store", "fold", "hooks", "event", "runtime", "errors"];
// The model barrier lives with the other barriers and must name the model port; the port is types only.
const CHECKPOINT = ["session", ...SESSION, "model"];
const APPROVAL = ["checkpoint", ...CHECKPOINT];
const TOOL = ["approval", ...APPROVAL];
const OUTSIDE = ["mod", "entry", "tools"];
const ABOVE_AGENT = ["tool", ...TOOL, "compaction", "storage", "frame", "journal", "sql"];

/** Layer → the layers it may import besides itself. Type-only imports count. Folders that do not exist yet are listed too. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  event: ["errors"],
  fold: TYPES,
  // Logs of other programs become events, and nothing else.
  foreign: ["fold", ...TYPES],
  hooks: TYPES,
  runtime: TYPES,
  model: TYPES,
  storage: TYPES,
  // The store port passes the medium's traits and the folds it keeps through; it is types only.
  store: [...TYPES, "fold", "storage", "runtime"],
  frame: ["errors"],
  journal: ["store", "storage", "frame", "event", "fold", "runtime", "errors"],
  sql: ["store", "event", "fold", "runtime", "errors"],
  "adapters/memory": ["storage", "errors"],
  "adapters/file": ["storage", "errors"],
  "adapters/opfs": ["storage", "errors"],
  "adapters/sqlite_node": ["sql", "errors"],
  "adapters/sqlite_wasm": ["sql", "errors"],
  "adapters/postgres": ["sql", "errors"],
  writer: ["store", "event", "runtime", "errors"],
  session: SESSION,
  checkpoint: CHECKPOINT,
  approval: APPROVAL,
  tool: TOOL,
  compaction: [...APPROVAL, "tool", "model"],
  agent: ABOVE_AGENT,
  tools: ["tool", ...TOOL],
  // Optional entries of their own: tools of other programs; what a host measures.
  mcp: ["tool", ...TOOL, "tools", "entry"],
  otel: OUTSIDE,
  // An entry must name the type it returns, the store port; the port is types only.
  entry: ["adapters/*", "journal", "sql", "foreign", "frame", "runtime", "errors", "store"],
  sandbox: ["errors"],
  server: [...OUTSIDE, "sandbox"],
  web: OUTSIDE,
  // The page of the crash lab runs the engine on the simulated media.
  "web/lab": [...OUTSIDE, "web", "testing"],
  // The page that measures in anybody's browser runs the same cases as the task.
  "web/bench": [...OUTSIDE, "bench"],
  testing: OUTSIDE,
  bench: OUTSIDE,
  cli: [...OUTSIDE, "mcp", "server", "testing", "bench"],
  /** mod.ts re-exports the portable core: no adapter, no entry, nothing that needs a runtime. */
  mod: ["agent", ...ABOVE_AGENT],
};

/** Contract suites speak about ports and codes, so src/testing may name them without going through mod.ts. */
const TYPE_ONLY_EXTRAS: Readonly<Record<string, readonly string[]>> = {
  testing: ["storage", "store", "runtime", "model", "frame", "event", "errors"],
};

/** Layers that may use what only Deno or Node have. */
const RUNTIME_LAYERS = /^(adapters\/(file|sqlite_node|postgres)|entry|tools|mcp|cli|server|sandbox|bench)$/;

/** Files of portable layers that only an entry imports and that need `node:`. */
const RUNTIME_FILES: readonly string[] = ["src/frame/node_zstd.ts"];

/** Layers that are handed time, randomness, timers and the network, and so never reach for them. */
const CORE_LAYERS: readonly string[] = ["mod", "agent", ...ABOVE_AGENT, "foreign", "adapters/memory"];

/** Layer → npm packages it may import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  tool: ["@cfworker/json-schema"],
  mcp: ["@modelcontextprotocol/client"],
  otel: ["@opentelemetry/api"],
  web: ["preact", "marked", "dompurify", "highlight.js"],
  "web/lab": ["preact"],
  server: ["hono"],
  "adapters/postgres": ["postgres"],
  bench: ["idb-keyval", "playwright", "uplot", "@sqlite.org/sqlite-wasm"],
};

/**
 * What the portable core may reach outside of the repository: @cfworker/json-schema checks plain JSON Schemas without `eval`,
 * so also under a page's content security policy.
 */
export const PORTABLE_PACKAGES: readonly string[] = ["@cfworker/json-schema"];

/** What must run everywhere. Those that do not exist yet arrive with their feature. */
export const PORTABLE_ROOTS: readonly string[] = [
  "mod.ts",
  "src/entry/memory.ts",
  "src/testing/mod.ts",
  "src/entry/opfs.ts",
  "src/entry/foreign.ts",
  "web/worker.ts",
  "web/inspector.ts",
  "src/tools/sandbox_exec.ts",
];

/** The layer of a file, or null for files outside of the table (tests, tasks). */
export function layerOf(path: string): string | null {
  if (path === "mod.ts") return "mod";
  const [top, folder, inner] = path.split("/");
  if (top === "web" && /^lab(?:\.tsx)?$/.test(folder ?? "")) return "web/lab";
  if (top === "web" && folder === "bench") return "web/bench";
  if (top === "web" || top === "bench") return top;
  if (top !== "src" || folder === undefined) return null;
  if (folder === "adapters") return `adapters/${inner}`;
  return folder.replace(/\.tsx?$/, "");
}

/** Imports that the table does not allow, and folders it does not know. */
export function importProblems(graph: ModuleGraph): string[] {
  const problems: string[] = [];
  for (const [path, imports] of graph) {
    const layer = layerOf(path);
    if (layer === null) continue;
    if (LAYERS[layer] === undefined) {
      problems.push(`${path}: the layout has no "${layer}"`);
      continue;
    }
    for (const { target, isTypeOnly } of imports) {
      const problem = importProblem(path, layer, target, isTypeOnly);
      if (problem !== null) problems.push(problem);
    }
  }
  return problems;
}

function importProblem(path: string, layer: string, target: string, isTypeOnly: boolean): string | null {
  if (target.startsWith("node:")) {
    return mayUseRuntime(path, layer) ? null : `${path} imports ${target}: ${layer} must run without Node and Deno`;
  }
  if (/^[a-z]+:/.test(target)) {
    const name = packageName(target);
    return (PACKAGES[layer] ?? []).includes(name) ? null : `${path} imports ${target}: not a package of ${layer}`;
  }
  const targetLayer = layerOf(target);
  if (targetLayer === null) return `${path} imports ${target}: sources do not import tests or tasks`;
  if (targetLayer === layer || allows(LAYERS[layer]!, targetLayer)) return null;
  if (isTypeOnly && allows(TYPE_ONLY_EXTRAS[layer] ?? [], targetLayer)) return null;
  return `${path} imports ${target}: ${layer} may not import ${targetLayer}`;
}

function allows(layers: readonly string[], target: string): boolean {
  return layers.includes(target) || (target.startsWith("adapters/") && layers.includes("adapters/*"));
}

function mayUseRuntime(path: string, layer: string): boolean {
  return RUNTIME_LAYERS.test(layer) || RUNTIME_FILES.includes(path);
}

/** `npm:fzstd@0.1.1` → `fzstd`; the scheme is dropped, a version too. */
function packageName(specifier: string): string {
  return specifier.replace(/^[a-z]+:\/?/, "").replace(/(?<=.)@.*$/, "");
}

/** Circles of imports, between files and between layers, each written as a path that returns to its start. */
export function cycleProblems(graph: ModuleGraph): string[] {
  const files = new Map<string, Set<string>>();
  const layers = new Map<string, Set<string>>();
  for (const [path, imports] of graph) {
    const layer = layerOf(path);
    if (layer === null) continue;
    for (const { target } of imports) {
      if (!graph.has(target)) continue;
      add(files, path, target);
      const targetLayer = layerOf(target);
      if (targetLayer !== null && targetLayer !== layer) add(layers, layer, targetLayer);
    }
  }
  return [...circles(files), ...circles(layers)].map((circle) => `circle: ${circle.join(" → ")}`);
}

function add(edges: Map<string, Set<string>>, source: string, target: string): void {
  edges.set(source, (edges.get(source) ?? new Set()).add(target));
}

/** One circle per back edge of a depth-first walk: not every circle, but at least one when there is any. */
function circles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  function visit(node: string, path: string[]): void {
    const start = path.indexOf(node);
    if (start >= 0) {
      found.push([...path.slice(start), node]);
      return;
    }
    if (done.has(node)) return;
    for (const target of edges.get(node) ?? []) visit(target, [...path, node]);
    done.add(node);
  }
  for (const node of edges.keys()) visit(node, []);
  return found;
}

/** Everything a file reaches inside and outside of the repository, itself included, with how it got there. */
export function reachable(graph: ModuleGraph, root: string): Map<string, string[]> {
  const paths = new Map<string, string[]>([[root, [root]]]);
  // A Map is walked in insertion order, entries added on the way included.
  for (const [file, path] of paths) {
    for (const { target } of graph.get(file) ?? []) {
      if (!paths.has(target)) paths.set(target, [...path, target]);
    }
  }
  return paths;
}

/** What a portable root reaches although it must not: `node:` and packages that are not listed. */
export function portableProblems(graph: ModuleGraph, root: string): string[] {
  const problems: string[] = [];
  for (const [target, path] of reachable(graph, root)) {
    if (!/^[a-z]+:/.test(target)) continue;
    if (target.startsWith("npm:") && PORTABLE_PACKAGES.includes(packageName(target))) continue;
    problems.push(`${root} reaches ${target} through ${path.slice(1, -1).join(" → ") || "nothing else"}`);
  }
  return problems;
}

/** Names that only Deno or Node have. */
const RUNTIME_NAMES: readonly [RegExp, string][] = [
  [/(?<![\w$.#])Deno\b(?!\s*:)/, "Deno"],
  [/(?<![\w$.#])process\s*(?:\.|\[|\?\.)/, "process"],
  [/(?<![\w$.#])Buffer\b(?!\s*:)/, "Buffer"],
  [/globalThis\s*(?:\.|\[)\s*(?:Deno|process|Buffer)\b/, "globalThis.…"],
  [/(?<![\w$.#])(?:__dirname|__filename|require\s*\()/, "CommonJS"],
];

/** Time, randomness, timers and the network, taken instead of received. */
const AMBIENT_NAMES: readonly [RegExp, string][] = [
  [/(?<![\w$.#])Date\s*\.\s*now\b/, "Date.now"],
  [/(?<![\w$.#])new\s+Date\s*(?:\(\s*\)|(?![\s(\w$]))/, "new Date()"],
  [/(?<![\w$.#])performance\s*\.\s*now\b/, "performance.now"],
  [/(?<![\w$.#])Math\s*\.\s*random\b/, "Math.random"],
  [/(?<![\w$#])getRandomValues\b/, "getRandomValues"],
  [/(?<![\w$#])randomUUID\b/, "randomUUID"],
  [/(?<![\w$.#])set(?:Timeout|Interval|Immediate)\s*\(/, "setTimeout("],
  [/(?<!typeof\s+)globalThis\s*\.\s*(?:fetch|set(?:Timeout|Interval)|Date|crypto|Math|performance)\b/, "globalThis.…"],
  [/(?<![\w$.#])AbortSignal\s*\.\s*timeout\b/, "AbortSignal.timeout"],
  [/(?<![\w$.#])fetch\s*\(/, "fetch("],
];

/** What a source must not use: names that only one runtime has, or, in the core, what would break a replay. */
export function nameProblems(path: string, source: string, rule: "portable" | "core"): string[] {
  const names = rule === "portable" ? RUNTIME_NAMES : AMBIENT_NAMES;
  const reason = rule === "portable"
    ? "it must run without Node and Deno"
    : "time, randomness, timers and network come in as arguments";
  return codeOnly(source).split("\n").flatMap((line, index) =>
    names.filter(([pattern]) => pattern.test(line)).map(([, name]) => `${path}:${index + 1} uses ${name}: ${reason}`)
  );
}

/** Says whether the file's layer is portable: it must not use what only Deno or Node have. */
export function isPortable(path: string): boolean {
  const layer = layerOf(path);
  return layer !== null && !mayUseRuntime(path, layer);
}

/** Says whether the file's layer is part of the core, which can be replayed from one seed. */
export function isCore(path: string): boolean {
  const layer = layerOf(path);
  return layer !== null && CORE_LAYERS.includes(layer);
}
