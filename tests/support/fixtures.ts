/**
 * Where the large fixtures are: real session files that are not part of this repository.
 *
 * @module
 */

import { fromFileUrl } from "./paths.ts";

/** The folder named by `HOLDFAST_FIXTURES` (it holds `dsh/…`), or null when the variable is not set or empty. */
export function fixturesDir(): string | null {
  const folder = Deno.env.get("HOLDFAST_FIXTURES");
  if (folder === undefined || folder === "") return null;
  if (!isDirectory(`${folder}/dsh`)) {
    // A wrong path would silently turn hundreds of cases into passes.
    throw new Error(
      `Cannot use HOLDFAST_FIXTURES "${folder}": it has no folder "dsh"`,
    );
  }
  return folder;
}

/** Says aloud that cases were left out. The test task collects these lines. */
export function casesNotRun(count: number, what: string): void {
  console.log(`${count} cases not run: HOLDFAST_FIXTURES is not set (${what})`);
}

/** The small fixtures that are part of this repository. */
export const ownFixturesDir: string = fromFileUrl(
  new URL("../fixtures", import.meta.url),
);

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
