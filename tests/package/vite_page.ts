/**
 * A page of somebody else that Vite bundles, with our package in its worker, driven in Chromium.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { launchChromium } from "../support/browser/launch.ts";
import { serveSite } from "../support/browser/site.ts";
import { findNode } from "../support/node.ts";
import { fromFileUrl, repositoryDir } from "../support/paths.ts";
import { install, run, VITE } from "./npm.ts";

/** What the worker of the project reports. */
interface Outcome {
  readonly error?: string;
  readonly found: readonly string[];
  readonly id: string;
  /** The types of the events that were there before. */
  readonly before: readonly string[];
  readonly reason: string;
  readonly durableSeq: number;
}

/** Opens the first page twice: it writes a session, and after a reload reads it back. */
export async function writesAndReadsBack(dist: string, profileDir: string): Promise<void> {
  await using site = serveSite({ folder: dist });
  await using browser = await launchChromium({ profileDir });
  const page = await browser.cdp.openPage(`${site.origin}/`);
  const first = await page.evaluate("outcome") as Outcome;
  assertEquals(first.error, undefined);
  assertEquals([first.found, first.reason], [[], "completed"]);

  await reload(browser, page);
  const second = await page.evaluate("outcome") as Outcome;
  assertEquals(second.error, undefined);
  assertEquals([second.found, second.id, second.reason], [[first.id], first.id, "completed"]);
  // Everything that was acknowledged, and after it what every resumed session begins with.
  assert(second.before.length > first.durableSeq, `${second.before.length} events after ${first.durableSeq + 1}`);
  for (const type of ["tool/call", "effect/dispatched", "tool/result", "turn/end"]) {
    assertEquals(second.before.filter((each) => each === type).length, 1, type);
  }
}

/** Opens the page of `web/embed` twice: it asks and pays, and after a reload it shows what was said and pays nothing. */
export async function paysOnce(dist: string, profileDir: string): Promise<void> {
  await using site = serveSite({ folder: dist });
  await using browser = await launchChromium({ profileDir });
  const page = await browser.cdp.openPage(`${site.origin}/embed/index.html`);
  const paid = await page.evaluate("shown") as string;
  assertEquals(paid.match(/"toolCallId"/g)?.length, 1, paid);
  assertEquals(await page.evaluate("questions"), ["pay"]);
  await reload(browser, page);
  assertEquals(await page.evaluate("shown"), paid);
  assertEquals(await page.evaluate("questions"), []);
}

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser["cdp"]["openPage"]>>;

async function reload(browser: Browser, page: Page): Promise<void> {
  await page.send("Page.enable");
  const loaded = browser.cdp.next("Page.loadEventFired", ({ sessionId }) => sessionId === page.sessionId);
  await page.send("Page.reload");
  await loaded;
}

/** Installs the package and Vite into a new project and builds its pages. Returns the folder to serve. */
export async function buildPages(project: string, tarball: string): Promise<string> {
  await Deno.mkdir(`${project}/embed`, { recursive: true });
  await Deno.writeTextFile(`${project}/package.json`, '{"private":true,"type":"module"}');
  for (const file of ["index.html", "page.js", "worker.js", "vite.config.js", "embed/index.html", "embed/person.js"]) {
    await Deno.copyFile(fromFileUrl(new URL(`project/${file}`, import.meta.url)), `${project}/${file}`);
  }
  for (const file of ["page.ts", "worker.ts"]) {
    await Deno.copyFile(`${repositoryDir}/web/embed/${file}`, `${project}/embed/${file}`);
  }
  await install(project, [tarball, VITE]);
  await run(await findNode(), ["node_modules/vite/bin/vite.js", "build"], project);
  return `${project}/dist`;
}
