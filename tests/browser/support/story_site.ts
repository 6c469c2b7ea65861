/**
 * The real page, as it is built and served from any static host, in a browser on a real profile, driven by Playwright.
 *
 * @module
 */
import { type BrowserContext, chromium, type Page } from "playwright";
import { buildWeb } from "../../../src/cli/web_build.ts";
import { findChromium } from "../../support/browser/chromium.ts";
import { serveSite, type Site, textResponse } from "../../support/browser/site.ts";

/** How the story is set up. */
export interface StoryOptions {
  /** Put before the worker's code: how another browser behaves. */
  readonly workerPrefix?: string;
}

/** The built page and a browser. Whatever happens, both are gone when its scope ends. */
export class Story implements AsyncDisposable {
  readonly context: BrowserContext;
  readonly origin: string;
  readonly #folder: string;
  readonly #site: Site;

  private constructor(context: BrowserContext, site: Site, folder: string) {
    this.context = context;
    this.origin = site.origin;
    this.#site = site;
    this.#folder = folder;
  }

  static async open({ workerPrefix }: StoryOptions = {}): Promise<Story> {
    const folder = await Deno.makeTempDir({ prefix: "holdfast-story-" });
    let site: Site | undefined;
    try {
      await buildWeb(`${folder}/site`);
      const patched = async () =>
        textResponse(workerPrefix + await Deno.readTextFile(`${folder}/site/worker.js`), "js");
      site = serveSite({
        folder: `${folder}/site`,
        route: (_request, path) => workerPrefix !== undefined && path === "/worker.js" ? patched() : null,
      });
      const { executablePath, env } = await findChromium();
      const context = await chromium.launchPersistentContext(`${folder}/profile`, {
        executablePath,
        env: { ...Deno.env.toObject(), ...env },
        acceptDownloads: true,
        reducedMotion: "reduce",
      });
      return new Story(context, site, folder);
    } catch (error) {
      await site?.close();
      await Deno.remove(folder, { recursive: true });
      throw error;
    }
  }

  /** Opens the page in a new tab, at a fragment such as `#session=…`. */
  async newPage(fragment = ""): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(`${this.origin}/${fragment}`);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    await this.#site.close();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Types a message as a person does. */
export async function say(page: Page, text: string): Promise<void> {
  const box = page.getByLabel("Message", { exact: true });
  await box.fill(text);
  await box.press("Enter");
}

/** Exports the open session by the page's own button. */
export async function exportLog(
  page: Page,
): Promise<{ readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }> {
  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const download = await downloaded;
  return { name: download.suggestedFilename(), bytes: await Deno.readFile(await download.path()) };
}
