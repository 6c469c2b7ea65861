/**
 * `deno task check:portable`: the portable roots type-check without Deno and Node types, and reach no `node:` import and no
 * package outside of the list.
 *
 * @module
 */

import { PORTABLE_PACKAGES, PORTABLE_ROOTS, portableProblems } from "../support/layers.ts";
import { readModuleGraph } from "../support/module_graph.ts";
import { repositoryDir } from "../support/paths.ts";

const LIB = ["esnext", "dom", "dom.iterable", "dom.asynciterable"];

// Roots other than mod.ts arrive with their feature.
const roots = PORTABLE_ROOTS.filter((root, index) => index === 0 || exists(root));
await typeCheck(roots);
const { graph, problems: unread } = await readModuleGraph(roots);
const problems = [...unread, ...roots.flatMap((root) => portableProblems(graph, root))];
for (const problem of problems) console.error(problem);
if (problems.length > 0) Deno.exit(1);
console.log(`Portable: ${roots.join(", ")} (packages allowed: ${PORTABLE_PACKAGES.join(", ")})`);

/** Checks with our own compiler options, but only the libraries that every runtime has. */
async function typeCheck(files: string[]): Promise<void> {
  const config = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
  const folder = await Deno.makeTempDir({ prefix: "holdfast-portable-" });
  try {
    const portable = {
      imports: Object.fromEntries(PORTABLE_PACKAGES.map((name) => [name, config.imports[name]])),
      compilerOptions: { ...config.compilerOptions, lib: LIB, types: [] },
    };
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(portable));
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: [
        "check",
        "--no-lock",
        "--config",
        `${folder}/deno.json`,
        ...files.map((file) => `${repositoryDir}/${file}`),
      ],
      cwd: repositoryDir,
    }).spawn().status;
    if (code !== 0) Deno.exit(code);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(`${repositoryDir}/${path}`).isFile;
  } catch {
    return false;
  }
}
