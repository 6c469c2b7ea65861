/** The page that measures a browser, and the report that stands alone, as they are built: they end, draw, and say what they must. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BenchDocument } from "../../bench/run.ts";
import { writeReport } from "../../bench/report_html.ts";
import { bundle } from "../../src/cli/web_build.ts";
import { createPageApp } from "../../src/server/page_app.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { serveSite } from "../support/browser/site.ts";

const WEB = fileURLToPath(new URL("../../web", import.meta.url));
/** What the page is given, a phone and a desktop, light and dark. */
const SCREENS = [
  { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  { viewport: { width: 390, height: 800 }, colorScheme: "dark" },
] as const;

Deno.test("the benchmark page and the report", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-page-" });
  const { executablePath, env } = await findChromium();
  const browser = await chromium.launch({ executablePath, env: { ...Deno.env.toObject(), ...env }, headless: true });
  try {
    await bundle({ "bench.js": `${WEB}/bench/page.ts`, "bench_worker.js": `${WEB}/bench/worker.ts` }, folder);
    for (const name of ["bench.html", "style.css", "icon.svg"]) {
      await Deno.copyFile(`${WEB}/${name}`, `${folder}/${name}`);
    }
    const app = createPageApp({ readFile: (name) => Deno.readFile(`${folder}/${name}`).catch(() => null) });
    await using site = serveSite({ policy: null, route: (request) => app.fetch(request) });
    const url = `${site.origin}/bench.html?short`;
    let saved: BenchDocument;

    await t.step(
      "it measures, states its noise and its clock, leaves nothing, and saves what it measured",
      async () => {
        const { page, errors } = await open(browser, SCREENS[0]);
        await page.goto(url);
        await page.getByRole("button", { name: "Measure" }).click();
        await page.getByText("Done. What follows was measured just now").waitFor();
        assertMatch(await page.locator(".notes").first().innerText(), /clock of this page moves in steps of \d+ µs/);
        assertMatch(await page.locator(".noise").first().innerText(), /the baseline against itself is × \d/);
        assert(await page.locator("canvas").count() >= 5);
        assertEquals(await violations(page), []);
        assertEquals(await leftovers(page), []);
        const downloading = page.waitForEvent("download");
        await page.getByRole("link", { name: "Save the samples as JSON" }).click();
        saved = JSON.parse(await Deno.readTextFile(await (await downloading).path()));
        assertEquals(saved.runtimes[0]!.cases[0]!.name, "flush 200 B");
        assert(saved.runtimes[0]!.cases[0]!.series.every(({ samples }) => samples.length === 4));
        assertEquals(errors, []);
        await page.context().close();
      },
    );

    await t.step("without what it needs it says so, and measures nothing", async () => {
      const page = await (await browser.newContext()).newPage();
      // Workers take their scope from their script, so the lack is put in front of it.
      await page.route("**/bench_worker.js", async (route) => {
        const response = await route.fetch();
        const lack =
          `navigator.storage.getDirectory = () => Promise.reject(new DOMException("no", "SecurityError"));\n`;
        await route.fulfill({ response, body: lack + await response.text() });
      });
      await page.goto(url);
      await page.getByRole("button", { name: "Measure" }).click();
      await page.getByText("Nothing was measured.").waitFor();
      assertMatch(await page.getByRole("alert").innerText(), /refuses its private file system.*SecurityError/);
      assert(await page.getByRole("button", { name: "Measure" }).isEnabled());
      await page.context().close();
    });

    await t.step("stopped, it shows nothing, can begin again, and then removes what was left", async () => {
      const { page, errors } = await open(browser, SCREENS[1]);
      await page.goto(`${site.origin}/bench.html`);
      assertEquals(await violations(page), []);
      await page.getByRole("button", { name: "Measure" }).click();
      await page.getByText("Measuring flush").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Stopped.").waitFor();
      assertEquals(await page.locator("#results").innerText(), "");
      await page.goto(url);
      await page.getByRole("button", { name: "Measure" }).click();
      await page.getByText("Done. What follows was measured just now").waitFor();
      assertEquals(await leftovers(page), []);
      assertEquals(errors, []);
      await page.context().close();
    });

    await t.step("the report draws every figure without asking anybody, light and dark, wide and narrow", async () => {
      const path = `${folder}/report.html`;
      await writeReport([{ label: "before", document: saved }, { label: "after", document: saved }], path);
      for (const screen of SCREENS) {
        const { page, errors } = await open(browser, screen);
        await page.goto(pathToFileURL(path).href);
        await page.locator("canvas").first().waitFor();
        assertEquals(await page.locator("canvas").count(), await page.locator("[data-figure]").count());
        const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert(widths[0]! <= widths[1]!, `it is ${widths[0]} wide on a screen of ${widths[1]}`);
        if (screen === SCREENS[1]) assertEquals(await violations(page), []);
        assertEquals(errors, []);
        await page.context().close();
      }
    });
  } finally {
    await browser.close();
    await Deno.remove(folder, { recursive: true });
  }
});

/** A page whose complaints are collected, and every address it asks that is not where it came from. */
async function open(
  browser: Browser,
  screen: Parameters<Browser["newContext"]>[0],
): Promise<{ page: Page; errors: string[] }> {
  // axe is put into the page by the tool, which the policies of the pages would not let in.
  const context: BrowserContext = await browser.newContext({ ...screen, bypassCSP: true });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => {
    if (!/^(?:file:|blob:|data:|http:\/\/127\.0\.0\.1:)/.test(request.url())) errors.push(`it asked ${request.url()}`);
  });
  return { page, errors };
}

/** What is in the origin's storage. */
async function leftovers(page: Page): Promise<(string | undefined)[]> {
  return await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory() as unknown as { keys(): AsyncIterable<string> };
    const names = (await indexedDB.databases()).map(({ name }) => name);
    for await (const name of root.keys()) names.push(name);
    return names;
  });
}

async function violations(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: axe.source });
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  });
}
