/**
 * The built page from a folder, for a server that hosts agents too.
 *
 * @module
 */
import { createPageApp } from "./page_app.ts";

/**
 * Answers requests for files of a build, as `deno task build` makes it. The folder is read at each request, so it may be built
 * later, or again.
 *
 * @returns what answers a request, `null` for a path that no file has
 *
 * @example
 * ```ts
 * import { pageFrom } from "./page_files.ts";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${folder}/index.html`, "<!doctype html>");
 * const pages = pageFrom(folder);
 * if ((await pages(new Request("http://localhost/")))?.status !== 200) throw new Error("unreachable");
 * if (await pages(new Request("http://localhost/other.js")) !== null) throw new Error("unreachable");
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export function pageFrom(folder: string): (request: Request) => Promise<Response | null> {
  const app = createPageApp({ readFile: (name) => readIfThere(`${folder}/${name}`) });
  return async (request) => {
    if (request.method !== "GET") return null;
    const response = await app.fetch(request);
    if (response.status !== 404) return response;
    await response.body?.cancel();
    return null;
  };
}

async function readIfThere(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return null;
    if (error instanceof Deno.errors.IsADirectory) return null;
    throw error;
  }
}
