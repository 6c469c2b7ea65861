/** The example of somebody else's page: short, and it works. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { chromium } from "playwright";
import { bundle } from "../../src/cli/web_build.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { serveSite } from "../support/browser/site.ts";

/** How many lines the example may have, page and worker together, blank ones not counted. */
const LINES_MAX = 25;
const FOLDER = new URL("../../web/embed/", import.meta.url);

Deno.test(`the embedding example has at most ${LINES_MAX} lines`, async () => {
  let lines = 0;
  for (const name of ["page.ts", "worker.ts"]) {
    lines += (await Deno.readTextFile(new URL(name, FOLDER))).split("\n").filter((line) => line !== "").length;
  }
  assert(lines <= LINES_MAX, `${lines} lines`);
});

Deno.test("the embedding example asks with payee and amount, pays once, and a reload repeats nothing, in Chromium", async () => {
  const folder = await Deno.makeTempDir();
  const profileDir = await Deno.makeTempDir();
  await bundle(
    { "page.js": new URL("page.ts", FOLDER).pathname, "worker.js": new URL("worker.ts", FOLDER).pathname },
    folder,
  );
  await Deno.writeTextFile(
    `${folder}/index.html`,
    '<!doctype html><title>Shop</title>\n<script type="module" src="page.js"></script>\n',
  );
  const site = serveSite({ folder });
  const { executablePath, env } = await findChromium();
  const options = { executablePath, env: { ...Deno.env.toObject(), ...env }, headless: true };
  const context = await chromium.launchPersistentContext(profileDir, options);
  try {
    const page = await context.newPage();
    const asked: string[] = [];
    page.on("dialog", async (dialog) => {
      asked.push(dialog.message());
      await dialog.accept();
    });
    await page.goto(site.origin);
    await page.waitForFunction(() => document.body.textContent?.includes("Done: paid") === true);
    assertStringIncludes(await page.textContent("body") ?? "", "alice");
    assertEquals(asked, ['pay {"to":"alice","amount":"10"}?']);
    const said = await page.textContent("body");
    await page.reload();
    await page.waitForFunction((said) => document.body.textContent === said, said);
    await page.waitForFunction(() => document.body.textContent?.includes("Done: paid") === true);
    assertEquals([asked.length, said!.match(/paid /g)?.length], [1, 2]);
  } finally {
    await context.close();
    await site.close();
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(profileDir, { recursive: true });
  }
});
