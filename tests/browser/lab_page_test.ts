/** The crash lab as it is built and served: a visitor steps through it, with and without a mouse, on a screen and on a phone. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright";
import { buildWeb } from "../../src/cli/web_build.ts";
import { createPageApp } from "../../src/server/page_app.ts";
import { runPayment } from "../../web/lab/payment_run.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { serveSite } from "../support/browser/site.ts";

/** The built pages, served as `deno task start` serves them. */
class BuiltPages implements AsyncDisposable {
  readonly #folder: string;
  readonly #site: ReturnType<typeof serveSite>;
  readonly #browser: Browser;

  private constructor(folder: string, browser: Browser) {
    this.#folder = folder;
    this.#browser = browser;
    const app = createPageApp({ readFile: (name) => Deno.readFile(`${folder}/${name}`).catch(() => null) });
    // The app brings its own policy; the site adds none.
    this.#site = serveSite({ policy: null, route: (request) => app.fetch(request) });
  }

  static async open(): Promise<BuiltPages> {
    const folder = await Deno.makeTempDir({ prefix: "holdfast-lab-test-" });
    await buildWeb(folder);
    const { executablePath, env } = await findChromium();
    const launchEnv = { ...Deno.env.toObject(), ...env };
    return new BuiltPages(folder, await chromium.launch({ executablePath, env: launchEnv, headless: true }));
  }

  /** Opens a page; what it throws, and whom it asks beside its own site, is collected. */
  async page(path: string, options: BrowserContextOptions = {}): Promise<{ page: Page; errors: string[] }> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("request", (request) => {
      if (!request.url().startsWith(this.#site.origin)) errors.push(`it asked ${request.url()}`);
    });
    await page.goto(`${this.#site.origin}/${path}`);
    if (path === "lab.html") {
      await page.locator(".class, [role=alert]").first().waitFor();
      assertEquals(await page.getByRole("alert").allInnerTexts(), []);
    }
    return { page, errors };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.#site.close();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

Deno.test("the crash lab: every state of a payment, its bytes, its evidence and its class", async (t) => {
  await using pages = await BuiltPages.open();
  const run = await runPayment("posix");
  const stateCount = run.moments.reduce((sum, moment) => sum + moment.stateCount, 0);
  const [paid, marked, asked] = ["the bank has paid", "effect/dispatched", "tool/call"].map((words) =>
    run.moments.findIndex(({ done }) => done.includes(words))
  ) as [number, number, number];

  await t.step("it is linked from the page of the agent, and leads back", async () => {
    const { page, errors } = await pages.page("");
    await page.getByRole("link", { name: "The crash lab" }).click();
    await page.getByRole("heading", { name: "Crash a payment at any instant" }).waitFor();
    await page.getByRole("link", { name: "Holdfast" }).click();
    await page.getByRole("link", { name: "The crash lab" }).waitFor();
    assertEquals(errors, []);
    await page.context().close();
  });

  await t.step("it looks at every state by itself, and nothing false is said", async () => {
    const { page, errors } = await pages.page("lab.html");
    await page.getByText(`All ${stateCount} crash states looked at: nothing false was said.`).waitFor();
    assertMatch(
      await page.locator(".lab-progress").innerText(),
      /(\d+) were unknown, and asking the bank settled \1 of them/,
    );
    assertEquals(await page.locator(".instant").count(), run.moments.length);
    assertMatch(await page.locator(".instant").nth(marked + 1).innerText(), /1 state\s+\? 1 outcome_unknown/);
    assertEquals(errors, []);
    await page.context().close();
  });

  await t.step(
    "by keys alone: the instant by arrows, the state by the slider, the steps by their buttons",
    async () => {
      const { page, errors } = await pages.page("lab.html");
      await page.locator(".class").waitFor();
      const first = page.getByRole("radio").first();
      for (
        let presses = 0;
        presses < 10 && !await first.evaluate((radio) => radio === document.activeElement);
        presses++
      ) {
        await page.keyboard.press("Tab");
      }
      for (let moment = 0; moment < asked; moment++) await page.keyboard.press("ArrowDown");
      await page.getByText(`State 1 of ${run.moments[asked]!.stateCount}`).waitFor();
      await page.locator(".class", { hasText: "not proposed" }).waitFor();

      await page.getByRole("slider").focus();
      await page.keyboard.press("End");
      await page.getByText(`State ${run.moments[asked]!.stateCount} of`).waitFor();
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowRight");
      await page.getByText("State 2 of").waitFor();
      await page.locator(".lines .torn").waitFor();

      await page.getByRole("button", { name: "One state back" }).focus();
      for (const state of [1, run.moments[asked - 1]!.stateCount]) {
        await page.keyboard.press("Enter");
        await page.getByText(`State ${state} of`).waitFor();
      }
      assertEquals(await page.getByRole("radio").nth(asked - 1).isChecked(), true);
      await page.getByRole("button", { name: "Next state" }).focus();
      await page.keyboard.press("Enter");
      assertEquals(await page.getByRole("radio").nth(asked).isChecked(), true);
      // A line's bytes unfold.
      await page.locator(".lines summary").first().focus();
      await page.keyboard.press("Enter");
      assertMatch(await page.locator(".lines pre").first().innerText(), /"type":/);
      assertEquals(errors, []);
      await page.context().close();
    },
  );

  await t.step("between effect and result: unknown with its evidence, settled by asking, and not without", async () => {
    const { page, errors } = await pages.page("lab.html");
    await page.getByRole("radio").nth(paid).check();
    await page.locator(".class", { hasText: "outcome_unknown" }).waitFor();
    const then = page.locator(".lab-then");
    assertMatch(await then.innerText(), /event \d+ it was dispatched[^]*the bank had paid\. In the end: paid once\./);
    await page.locator(".settled-happened").waitFor();
    assertMatch(await then.innerText(), /effect\/reconciled[^]*The model reads: .*receipt[^]*Nothing false was said/);
    await page.getByRole("checkbox", { name: "The next start may ask the bank" }).uncheck();
    await then.getByText("It stays unknown until a person looks").waitFor();
    assertEquals(await page.locator(".settled-happened").count(), 0);

    // While the request is under way: asking closes its key, and it is refused when it comes.
    await page.getByRole("checkbox", { name: "The next start may ask the bank" }).check();
    await page.getByRole("radio").nth(paid - 1).check();
    await page.locator(".settled-absent").waitFor();
    assertMatch(await then.innerText(), /under way[^]*In the end: not paid\./);
    assertEquals(errors, []);
    await page.context().close();
  });

  await t.step("axe finds nothing serious, nothing is wider than the screen; screenshots are taken", async () => {
    const shots = Deno.env.get("HOLDFAST_SHOTS") ?? await Deno.makeTempDir({ prefix: "holdfast-shots-" });
    await Deno.mkdir(shots, { recursive: true });
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1280, 390]) {
        const { page, errors } = await pages.page("lab.html", { viewport: { width, height: 900 }, colorScheme });
        await page.getByText(`All ${stateCount} crash states`).waitFor();
        for (const [name, moment, state] of [["torn", asked, 40], ["unknown", paid, 0]] as const) {
          await page.getByRole("radio").nth(moment).check();
          if (state > 0) await page.getByRole("slider").fill(String(state));
          await page.getByText(`State ${state + 1} of`).waitFor();
          await page.locator(".judged").waitFor();
          await page.screenshot({ path: `${shots}/lab-${name}-${width}-${colorScheme}.png`, fullPage: true });
          const where = `${name}, ${width}, ${colorScheme}`;
          assertEquals(await violations(page), [], where);
          assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `too wide: ${where}`);
        }
        assertEquals(errors, []);
        await page.context().close();
      }
    }
    console.log(`screenshots: ${shots}`);
  });
});

/** What axe calls serious or critical. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })") as axe.AxeResults;
  return found.violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) =>
    `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`
  );
}
