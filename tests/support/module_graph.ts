/**
 * Who imports whom in this repository, as `deno info --json` sees it: type-only imports, re-exports and dynamic imports count.
 *
 * @module
 */

import { repositoryDir } from "./paths.ts";

/** One import: a path relative to the repository, or a package or built-in as written in the import map ("npm:…", "node:…"). */
export interface Import {
  readonly target: string;
  readonly isTypeOnly: boolean;
}

/** File path relative to the repository → its imports. */
export type ModuleGraph = ReadonlyMap<string, readonly Import[]>;

interface DenoInfo {
  modules: {
    specifier: string;
    error?: string;
    dependencies?: { code?: Resolved; type?: Resolved; specifier: string }[];
  }[];
}

interface Resolved {
  specifier?: string;
  error?: string;
}

/** All `.ts` and `.tsx` files below a folder of the repository, as paths relative to it; none when it does not exist. */
export function sourceFiles(folder: string): string[] {
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(`${repositoryDir}/${folder}`)];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) return sourceFiles(path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  }).sort();
}

/** A graph, and what is missing in it: files that cannot be read or parsed, imports that do not resolve. */
export interface GraphReading {
  readonly graph: ModuleGraph;
  readonly problems: readonly string[];
}

/** Reads the graph of the given files and all they reach inside the repository. */
export async function readModuleGraph(files: readonly string[]): Promise<GraphReading> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-graph-" });
  try {
    // One root that imports every file: one call instead of one per file.
    const root = `${folder}/all.ts`;
    await Deno.writeTextFile(root, files.map((file) => `import "file://${repositoryDir}/${file}";\n`).join(""));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "--config", `${repositoryDir}/deno.json`, root],
      cwd: repositoryDir,
    }).output();
    if (!success) throw new Error(`"deno info" failed: ${new TextDecoder().decode(stderr)}`);
    return toGraph(JSON.parse(new TextDecoder().decode(stdout)));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function toGraph(info: DenoInfo): GraphReading {
  const graph = new Map<string, Import[]>();
  const problems: string[] = [];
  for (const module of info.modules) {
    const path = relative(module.specifier);
    if (module.error) problems.push(`${path}: ${module.error}`);
    if (!isInRepository(module.specifier)) continue;
    const imports: Import[] = [];
    for (const { code, type, specifier } of module.dependencies ?? []) {
      const resolved = code?.specifier ?? type?.specifier;
      if (resolved === undefined) {
        problems.push(`${path}: "${specifier}": ${code?.error ?? type?.error ?? "unresolved"}`);
      } else imports.push({ target: relative(resolved), isTypeOnly: code === undefined });
    }
    graph.set(path, imports);
  }
  return { graph, problems };
}

function isInRepository(specifier: string): boolean {
  return specifier.startsWith(`file://${repositoryDir}/`);
}

function relative(specifier: string): string {
  return isInRepository(specifier) ? specifier.slice(`file://${repositoryDir}/`.length) : specifier;
}
