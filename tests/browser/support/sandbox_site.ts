/**
 * The real page with a worker that has a shell, and the real server that runs its commands: two processes to be killed, beside a
 * browser to be closed.
 *
 * @module
 */
import { type BrowserContext, chromium, type Page } from "playwright";
import type { SessionEvent, SessionRow } from "../../../mod.ts";
import { openFileStore, openLogFile } from "../../../src/entry/file.ts";
import { buildWeb, bundle } from "../../../src/cli/web_build.ts";
import { findChromium } from "../../support/browser/chromium.ts";
import { serveSite, type Site, textResponse } from "../../support/browser/site.ts";
import { repositoryDir } from "../../support/paths.ts";

const TOKEN = "correct-horse-battery-staple";

/** Everything of one story. Whatever happens, all of it is gone when its scope ends. */
export class SandboxStory implements AsyncDisposable {
  readonly #folder: string;
  readonly #site: Site;
  readonly #context: BrowserContext;
  #server: Deno.ChildProcess | null = null;
  #port = 0;

  private constructor(folder: string, site: Site, context: BrowserContext) {
    this.#folder = folder;
    this.#site = site;
    this.#context = context;
  }

  static async open(): Promise<SandboxStory> {
    const folder = await Deno.makeTempDir({ prefix: "holdfast-sandbox-story-" });
    let site: Site | undefined;
    let story: SandboxStory | undefined;
    try {
      for (const name of ["root", "workspace"]) await Deno.mkdir(`${folder}/${name}`);
      await buildWeb(`${folder}/site`);
      await bundle({ "worker.js": `${repositoryDir}/tests/browser/support/sandbox_worker.ts` }, `${folder}/site`);
      const worker = async () => {
        const settings = { endpoint: `http://127.0.0.1:${story!.#port}/v1/sandbox/exec`, token: TOKEN };
        const code = await Deno.readTextFile(`${folder}/site/worker.js`);
        return textResponse(`globalThis.SANDBOX = ${JSON.stringify(settings)};\n${code}`, "js");
      };
      site = serveSite({ folder: `${folder}/site`, route: (_, path) => path === "/worker.js" ? worker() : null });
      const { executablePath, env } = await findChromium();
      const context = await chromium.launchPersistentContext(`${folder}/profile`, {
        executablePath,
        env: { ...Deno.env.toObject(), ...env },
        acceptDownloads: true,
        reducedMotion: "reduce",
      });
      story = new SandboxStory(folder, site, context);
      await story.startServer();
      return story;
    } catch (error) {
      if (story !== undefined) await story[Symbol.asyncDispose]();
      else {
        await site?.close();
        await Deno.remove(folder, { recursive: true });
      }
      throw error;
    }
  }

  /** Starts the server, where it was before. */
  async startServer(): Promise<void> {
    const args = ["serve", "--json", "--port", String(this.#port), "--root", `${this.#folder}/root`];
    const places = ["--workspace", `${this.#folder}/workspace`, "--allow-origin", this.#site.origin];
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--frozen", `${repositoryDir}/src/cli/main.ts`, ...args, ...places],
      env: { HOLDFAST_TOKEN: TOKEN },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#server = child;
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The server ended: ${text}`);
      text += value;
      const origin = /"origin":\s*"([^"]+)"/.exec(text)?.[1];
      if (origin === undefined) continue;
      this.#port = Number(new URL(origin).port);
      void drain(reader);
      return;
    }
  }

  /** Kills the server as a power cut would. */
  async killServer(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    try {
      server?.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await server?.status;
  }

  /** Opens the page in a new tab, at a fragment such as `#session=…`. */
  async newPage(fragment = ""): Promise<Page> {
    const page = await this.#context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => console.error(`The page failed: ${error}`));
    await page.goto(`${this.#site.origin}/${fragment}`);
    return page;
  }

  /** Kills the process of a page, its worker included: none of its code runs any more. */
  async killPage(page: Page): Promise<void> {
    const devtools = await this.#context.newCDPSession(page);
    const crashed = page.waitForEvent("crash");
    // The answer never comes: whoever would give it is gone.
    devtools.send("Page.crash").catch(() => {});
    await crashed;
    await page.close();
  }

  /** A file of the workspace that commands see; `""` when there is none. */
  async file(name: string): Promise<string> {
    return await Deno.readTextFile(`${this.#folder}/workspace/${name}`).catch(() => "");
  }

  /** Writes a file of the workspace, such as one that a command waits for. */
  async write(name: string): Promise<void> {
    await Deno.writeTextFile(`${this.#folder}/workspace/${name}`, "");
  }

  /** The events of the ledger that are durable. */
  async ledger(): Promise<SessionEvent[]> {
    for await (const { name } of Deno.readDir(`${this.#folder}/root/sandbox`)) {
      const store = openFileStore({ root: `${this.#folder}/root/sandbox/${name}` });
      await using _ = store;
      const rows: SessionRow[] = await Array.fromAsync(store.list());
      const reader = await store.open(rows.at(-1)!.id, "read");
      return [...(await reader.read()).events];
    }
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    await this.killServer();
    await this.#site.close();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function drain(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await reader.read().catch(() => ({ done: true }))).done);
}

/** Types a message as a person does. */
export async function say(page: Page, text: string): Promise<void> {
  const box = page.getByLabel("Message", { exact: true });
  await box.fill(text);
  await box.press("Enter");
}

/** The log of the open session, exported by the page's own button and read as any log file is. */
export async function logOf(page: Page): Promise<SessionEvent[]> {
  const downloaded = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  await using log = await openLogFile(await (await downloaded).path());
  return [...(await log.read()).events];
}

/** Resolves when it holds: files of other processes can only be looked at again and again. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  triesMax = 1500,
): Promise<void> {
  for (let tries = 0; !await holds(); tries++) {
    if (tries === triesMax) throw new Error(`It never came to this: ${what}`);
    await new Promise((next) => setTimeout(next, 20));
  }
}
