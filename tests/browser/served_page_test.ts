/**
 * The page as `holdfast serve` gives it: its shell runs in the sandbox of that server, with a token that no address shows.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type BrowserContext, chromium, type Page } from "playwright";
import { buildWeb } from "../../src/cli/web_build.ts";
import { canBubblewrap, canLandlock } from "../sandbox/host.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { repositoryDir } from "../support/paths.ts";

/** A server process and a browser. Whatever happens, both are gone when the scope ends. */
class Served implements AsyncDisposable {
  readonly folder: string;
  readonly #server: Deno.ChildProcess;
  readonly context: BrowserContext;
  /** What the server printed as the page's address. */
  readonly address: string;
  /** Every address that a page or its worker asked for. */
  readonly requested: string[] = [];

  private constructor(folder: string, server: Deno.ChildProcess, context: BrowserContext, address: string) {
    this.folder = folder;
    this.#server = server;
    this.context = context;
    this.address = address;
    context.on("request", (request) => void this.requested.push(request.url()));
  }

  static async open(): Promise<Served> {
    // Not below /tmp, which a sandbox may hide.
    const folder = await Deno.makeTempDir({ dir: "/var/tmp", prefix: "holdfast-served-" });
    let server: Deno.ChildProcess | undefined;
    try {
      await buildWeb(`${folder}/page`);
      server = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", "--config", `${repositoryDir}/deno.json`, `${repositoryDir}/src/cli/main.ts`],
          ...["serve", "--port", "0", "--page", "page"],
        ],
        ...{ cwd: folder, stdin: "null", stdout: "piped", stderr: "null" },
      }).spawn();
      const address = await pageAddress(server);
      const { executablePath, env } = await findChromium();
      const context = await chromium.launchPersistentContext(`${folder}/profile`, {
        ...{ executablePath, env: { ...Deno.env.toObject(), ...env }, reducedMotion: "reduce" },
      });
      return new Served(folder, server, context, address);
    } catch (error) {
      server?.kill("SIGKILL");
      await server?.status;
      await Deno.remove(folder, { recursive: true });
      throw error;
    }
  }

  async visit(address: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(address);
    return page;
  }

  has(name: string): boolean {
    try {
      return Deno.lstatSync(`${this.folder}/workspace/${name}`).isFile;
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
    this.#server.kill("SIGKILL");
    await this.#server.status;
    await this.#server.stdout.cancel().catch(() => {});
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Reads until the address is there. */
async function pageAddress(server: Deno.ChildProcess): Promise<string> {
  const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`It ended: ${text}`);
    text += value;
    const found = /^Page: (\S+)\n/m.exec(text)?.[1];
    if (found === undefined) continue;
    reader.releaseLock();
    return found;
  }
}

async function say(page: Page, text: string): Promise<void> {
  const box = page.getByLabel("Message", { exact: true });
  await box.fill(text);
  await box.press("Enter");
}

/** Says something, looks at the question it leads to, and answers it. Resolves with the text of the question. */
async function answered(page: Page, text: string, button: string): Promise<string> {
  await say(page, text);
  const dialog = page.getByRole("dialog");
  await dialog.getByText("May").first().waitFor();
  const shown = await dialog.innerText();
  await dialog.getByRole("button", { name: button }).click();
  await dialog.waitFor({ state: "detached" });
  return shown;
}

Deno.test({
  name: "the page of a server: its shell asks, runs there once, and no address ever holds the token",
  ignore: !canBubblewrap && !canLandlock,
  async fn(t) {
    await using served = await Served.open();
    const token = new URLSearchParams(new URL(served.address).hash.slice(1)).get("token")!;
    assert(token.length >= 20);
    const page = await served.visit(served.address);

    await t.step("the address gives its token away to nobody, not even to who looks at it", async () => {
      await page.locator(".welcome").waitFor();
      assertEquals(new URL(page.url()).hash, "");
      assertEquals(await page.evaluate(() => history.length), 2); // about:blank, and this page once
    });

    await t.step("a command is shown as it will run, and runs in the server's sandbox", async () => {
      const script = "echo $((40 + 2)) >made && cat made";
      const shown = await answered(page, `run ${script} in workspace-write because I want the file`, "Approve once");
      assertMatch(shown, /May\s+shell\s+run\?/);
      assertStringIncludes(shown, "workspace-write instead of read-only, because: I want the file");
      assertStringIncludes(shown, `The command, as the shell gets it:`);
      assertStringIncludes(shown, script);
      await page.locator(".result", { hasText: "exit code 0\n42" }).waitFor();
      assert(served.has("made"));
      // The page's own files are elsewhere.
      await answered(page, "write hello to notes.txt", "Approve once");
      await page.locator(".call", { hasText: "Wrote 5 bytes" }).waitFor();
      assertEquals(served.has("notes.txt"), false);
    });

    await t.step("each refusal reads differently, and nothing runs", async () => {
      await answered(page, "run echo x >never in workspace-write because one", "Reject");
      await page.locator(".result.error", { hasText: "the user said no" }).waitFor();
      await say(page, "run echo x >never in workspace-write because two");
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: /Decide later/ }).click();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("the turn was stopped, and the question with it").waitFor();
      // Nobody is asked for what the server never gives.
      await say(page, "run echo x >never in danger-full-access because three");
      await page.locator(".result.error", { hasText: "this host allows workspace-write at most" }).waitFor();
      await page.locator(".outcome", { hasText: "MODE_REFUSED" }).waitFor();
      await answered(page, "run echo x >never", "Approve once");
      await page.locator(".result", { hasText: "the sandbox (read-only) seems to have refused something" }).waitFor();
      assertEquals(served.has("never"), false);
    });

    await t.step("a reload keeps the shell; a tab that was not given the token has none", async () => {
      await page.reload();
      await page.getByText("this tab writes the log").waitFor();
      await answered(page, "run echo again", "Approve once");
      await page.locator(".result", { hasText: "exit code 0\nagain" }).waitFor();
      const other = await served.visit(new URL("/", served.address).href);
      await say(other, "run echo other");
      await other.getByText("I understand only a few sentences").waitFor();
      assertEquals((await other.locator(".entry").allInnerTexts()).join("\n").includes("run ls"), false);
      // Typed into the open page, the token counts too, and is gone from the address again.
      await other.evaluate((token) => void (location.hash = `token=${token}`), token);
      await other.locator(".welcome").waitFor();
      await answered(other, "run echo other", "Approve once");
      await other.locator(".result", { hasText: "exit code 0\nother" }).waitFor();
      assertEquals(other.url().includes(token), false);
    });

    assert(served.requested.some((address) => address.endsWith("/v1/sandbox/exec")), served.requested.join("\n"));
    assertEquals(served.requested.filter((address) => address.includes(token)), []);
  },
});
