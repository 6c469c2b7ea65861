import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { buildWeb, bundle } from "../../src/cli/web_build.ts";
import { repositoryDir } from "../support/paths.ts";

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-build-" });
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What only Deno or Node have, as it would stand in a bundle: a name that is used, an import that stayed. */
const RUNTIME_CODE = [/\bDeno\s*\.\s*\w/, /["']node:\w/, /\bprocess\s*\.\s*(?:versions|argv|cwd|exit|stdin|stdout)\b/];

Deno.test("buildWeb() writes a page, a worker, the crash lab, the benchmark and static files, without code that needs Deno or Node", async () => {
  const lockBefore = await Deno.readTextFile(`${repositoryDir}/deno.lock`);
  await withFolder(async (folder) => {
    const files = await buildWeb(`${folder}/new/dist`);
    const names = files.map(({ name }) => name);
    for (
      const name of [
        "bench.html",
        "bench.js",
        "bench_worker.js",
        "index.html",
        "lab.css",
        "lab.html",
        "lab.js",
        "page.js",
        "style.css",
        "worker.js",
      ]
    ) {
      assert(names.includes(name), name);
    }
    assertEquals(names.filter((name) => /\.tsx?$/.test(name)), []);
    for (const { name, sizeBytes, gzipBytes } of files) {
      const text = await Deno.readTextFile(`${folder}/new/dist/${name}`);
      assertEquals(sizeBytes, new TextEncoder().encode(text).length);
      if (!name.endsWith(".js")) continue;
      assert(gzipBytes > 0 && gzipBytes < sizeBytes, name);
      console.log(`${name}: ${(sizeBytes / 1024).toFixed(1)} KiB, gzip ${(gzipBytes / 1024).toFixed(1)} KiB`);
      for (const pattern of RUNTIME_CODE) assertEquals(pattern.exec(text)?.[0] ?? null, null, name);
      assertEquals(/^import\b/m.test(text), false, `${name} imports another file`);
    }
    for (const name of ["page.js", "style.css"]) {
      assertStringIncludes(await Deno.readTextFile(`${folder}/new/dist/index.html`), name);
    }
  });
  assertEquals(await Deno.readTextFile(`${repositoryDir}/deno.lock`), lockBefore, "deno.lock changed");
});

Deno.test("bundle() takes TSX and the import map, and minifies when told", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(
      `${folder}/page.tsx`,
      `import { render } from "preact";
       import { decompress } from "fzstd";
       const Title = ({ text }: { text: string }) => <h1 class="title">{text}</h1>;
       render(<Title text={String(decompress)} />, document.body);`,
    );
    const sizes: number[] = [];
    for (const minify of [false, true]) {
      await bundle({ "page.js": `${folder}/page.tsx` }, `${folder}/out`, { minify });
      const text = await Deno.readTextFile(`${folder}/out/page.js`);
      assertEquals(text.includes("React."), false);
      sizes.push(text.length);
    }
    assert(sizes[1]! < 0.8 * sizes[0]!, sizes.join());
  });
});

Deno.test("bundle() says which entry does not bundle, and why", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/worker.ts`, `import "./missing.ts";`);
    const error = await assertRejects(
      () => bundle({ "worker.js": `${folder}/worker.ts` }, `${folder}/out`),
      Error,
      `Cannot bundle "${folder}/worker.ts"`,
    );
    assertStringIncludes(error.message, "missing.ts");
  });
});
