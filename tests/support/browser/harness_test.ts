import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { repositoryDir } from "../paths.ts";
import { type Chromium, searchChromium } from "./chromium.ts";
import { aliveAmong, descendants, launchChromium } from "./launch.ts";
import { runInWorker } from "./run_in_worker.ts";
import { serveSite, textResponse } from "./site.ts";

const silent = () => {};

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-browser-test-" });
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("searchChromium() refuses a CHROMIUM that does not start instead of taking another one", async () => {
  for (const [path, problem] of [["/nonexistent/chromium", "no such file"], ["/bin/false", "it does not start"]]) {
    await assertRejects(
      () => searchChromium({ variables: { CHROMIUM: path } }),
      Error,
      `Cannot use CHROMIUM "${path}": ${problem}`,
    );
  }
});

Deno.test("searchChromium() passes on the libraries that belong to CHROMIUM", async () => {
  const { executablePath } = await searchChromium();
  const variables = { CHROMIUM: executablePath, HOLDFAST_CHROMIUM_LIBRARIES: "/nonexistent/lib" };
  const chromium: Chromium = { executablePath, env: { LD_LIBRARY_PATH: "/nonexistent/lib" } };
  assertEquals(await searchChromium({ variables }), chromium);
});

Deno.test("searchChromium() says what to type, when there is none and nothing can be installed", async () => {
  const search = { variables: {}, playwrightPath: "/nonexistent/playwright", installedPaths: [], installs: [] };
  const error = await assertRejects(() => searchChromium(search), Error, "Cannot find Chromium");
  assertStringIncludes(error.message, "sudo apt-get install -y chromium");
});

Deno.test("searchChromium() names each way that it tried", async () => {
  const said: string[] = [];
  const search = {
    variables: {},
    playwrightPath: "/nonexistent/playwright",
    installedPaths: ["/bin/false"],
    installs: ["made up"],
    ways: { "made up": { description: "a made-up way", install: () => Promise.reject(new Error("no luck")) } },
    say: (line: string) => said.push(line),
  };
  const error = await assertRejects(() => searchChromium(search), Error, "a made-up way: no luck");
  assertStringIncludes(error.message, "/bin/false: it does not start");
  assertEquals(said, ["chromium: none found, trying a made-up way", "chromium: no luck"]);
});

Deno.test("runInWorker() tells what passed, failed, was skipped or rejected unheard, with stacks that name our sources", async () => {
  await withFolder(async (folder) => {
    const entry = `${folder}/entry.ts`;
    const support = `file://${repositoryDir}/tests/support/browser/cases.ts`;
    await Deno.writeTextFile(
      entry,
      `import { reportCases } from ${JSON.stringify(support)};
       await reportCases([
         { name: "passes", run() {} },
         { name: "fails", run() { throw new Error("on purpose", { cause: new Error("deeper") }); } },
         { name: "is skipped", skip: "a reason", run() { throw new Error("run"); } },
         { name: "rejects", run() { void Promise.reject(new Error("unheard")); } },
       ]);`,
    );
    const { results, failure } = await runInWorker({ entry, say: silent });
    assertEquals(failure, null);
    const [passes, fails, skipped, rejects, unheard] = results;
    assertEquals([passes!.error, skipped!.error, skipped!.skipped, rejects!.error], [null, null, "a reason", null]);
    for (const text of ["on purpose", "deeper", "entry.ts"]) assertStringIncludes(fails!.error!, text);
    assertStringIncludes(fails!.error!, "tests/support/browser/cases.ts");
    assertStringIncludes(unheard!.error!, "unheard");
  });
});

Deno.test("runInWorker() fails, when the module throws or does what the page's policy forbids", async () => {
  await withFolder(async (folder) => {
    const entry = `${folder}/entry.ts`;
    await Deno.writeTextFile(entry, `throw new Error("at once");`);
    assertStringIncludes((await runInWorker({ entry, say: silent })).failure!, "at once");
    await Deno.writeTextFile(entry, `new Function("return 1")();`);
    assertStringIncludes((await runInWorker({ entry, say: silent })).failure!, "unsafe-eval");
  });
});

Deno.test("a killed Chromium leaves no process, and starts again on its profile with what it stored", async () => {
  await withFolder(async (profileDir) => {
    await using site = serveSite({ route: (_, path) => path === "/" ? textResponse("<!doctype html>", "html") : null });
    const first = await launchChromium({ profileDir });
    const page = await first.cdp.openPage(`${site.origin}/`);
    await page.evaluate(`(async () => {
      const root = await navigator.storage.getDirectory();
      const writer = await (await root.getFileHandle("a", { create: true })).createWritable();
      await writer.write("kept");
      await writer.close();
    })()`);
    const tree = await descendants(first.pid);
    assert(tree.length > 2, `${tree.length} processes`);
    await first.kill();
    assertEquals(await aliveAmong([first.pid, ...tree]), []);

    await using second = await launchChromium({ profileDir });
    const again = await second.cdp.openPage(`${site.origin}/`);
    const read = `navigator.storage.getDirectory().then((root) => root.getFileHandle("a"))
      .then((handle) => handle.getFile()).then((file) => file.text())`;
    assertEquals(await again.evaluate(read), "kept");
    await assertRejects(() => again.evaluate("Promise.reject(new Error('from the page'))"), Error, "from the page");
  });
});

Deno.test("a frozen page's timers stand still until it is active again", async () => {
  await withFolder(async (profileDir) => {
    await using site = serveSite({ route: (_, path) => path === "/" ? textResponse("<!doctype html>", "html") : null });
    await using browser = await launchChromium({ profileDir });
    const page = await browser.cdp.openPage(`${site.origin}/`);
    await page.evaluate("globalThis.ticks = 0; setInterval(() => ticks++, 1); null");
    await page.setLifecycle("frozen");
    const ticks = await page.evaluate("ticks");
    // Another page's timer shows that time went on.
    const other = await browser.cdp.openPage(`${site.origin}/`);
    await other.evaluate("new Promise((resolve) => setTimeout(resolve, 100))");
    assertEquals(await page.evaluate("ticks"), ticks);
    await page.setLifecycle("active");
    await page.evaluate(`new Promise((resolve) => setInterval(() => ticks > ${ticks} && resolve(), 1))`);
  });
});

Deno.test("serveSite() sends the page's policy with everything, and serves nothing outside of its folder", async () => {
  await withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/site`);
    await Deno.writeTextFile(`${folder}/site/index.html`, "<!doctype html>");
    await Deno.writeTextFile(`${folder}/secret.txt`, "secret");
    await using site = serveSite({ folder: `${folder}/site` });
    const get = async (path: string) => {
      const response = await fetch(site.origin + path);
      return [response.status, await response.text(), response.headers.get("content-security-policy")?.split(";")[0]];
    };
    assertEquals(await get("/"), [200, "<!doctype html>", "default-src 'self'"]);
    for (const path of ["/..%2fsecret.txt", "/%2e%2e/secret.txt", "/none.js"]) {
      assertEquals(await get(path), [404, "Not found", "default-src 'self'"], path);
    }
  });
});
