import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch } from "@std/assert";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright";
import { createPageApp } from "../../src/server/page_app.ts";
import { bundle } from "../../src/cli/web_build.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { serveSite } from "../support/browser/site.ts";
import { repositoryDir } from "../support/paths.ts";

/** Scenes whose screenshots are taken and that axe looks at. `fake_page.tsx` says what each one is. */
const SCENES = [
  ...[
    "welcome",
    "done",
    "streaming",
    "question",
    "file",
    "unknown",
    "gone_on",
    "repeats",
    "settled",
    "compacted",
    "stuck",
    "damaged",
    "lost",
    "unusable",
  ],
];
const ROWS_IN_DOM_MAX = 60;
const JUMPS = 120;
const JUMP_CPU_MS_MAX = 50;

/** The page over a worker that plays scenes, served with the real headers. */
class FakePages implements AsyncDisposable {
  readonly #folder: string;
  readonly #site: ReturnType<typeof serveSite>;
  readonly browser: Browser;

  private constructor(folder: string, browser: Browser) {
    this.#folder = folder;
    this.browser = browser;
    const app = createPageApp({ readFile: (name) => Deno.readFile(`${folder}/${name}`).catch(() => null) });
    // The app brings its own policy; the site adds none.
    this.#site = serveSite({ policy: null, route: (request) => app.fetch(request) });
  }

  static async open(): Promise<FakePages> {
    const folder = await Deno.makeTempDir({ prefix: "holdfast-page-test-" });
    await bundle({ "page.js": `${repositoryDir}/tests/browser/fake_page.tsx` }, folder);
    for (const name of ["index.html", "style.css", "icon.svg"]) {
      await Deno.copyFile(`${repositoryDir}/web/${name}`, `${folder}/${name}`);
    }
    const { executablePath, env } = await findChromium();
    const launchEnv = { ...Deno.env.toObject(), ...env };
    return new FakePages(folder, await chromium.launch({ executablePath, env: launchEnv, headless: true }));
  }

  /** Opens a scene; what the page throws fails the test that asks `errors`. */
  async scene(name: string, options: BrowserContextOptions = {}): Promise<{ page: Page; errors: string[] }> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(`${this.#site.origin}/?scene=${name}`);
    await page.locator("main").first().waitFor();
    return { page, errors };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.#site.close();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

Deno.test("the page over every kind of worker: looks, keys, hostile text, a long log", async (t) => {
  await using pages = await FakePages.open();

  await t.step("axe finds nothing serious, nothing is wider than the screen; screenshots are taken", async () => {
    const shots = Deno.env.get("HOLDFAST_SHOTS") ?? await Deno.makeTempDir({ prefix: "holdfast-shots-" });
    await Deno.mkdir(shots, { recursive: true });
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1280, 390]) {
        const { page, errors } = await pages.scene("welcome", { viewport: { width, height: 800 }, colorScheme });
        for (const scene of SCENES) {
          await page.goto(page.url().replace(/scene=\w+.*/, `scene=${scene}`));
          await drawn(page, scene);
          await page.screenshot({ path: `${shots}/${scene}-${width}-${colorScheme}.png` });
          // What axe sees depends on colours and layout, each of which is looked at once.
          const isChecked = (colorScheme === "light") === (width === 1280);
          for (const pane of isChecked ? await panes(page) : []) {
            if (pane !== null) await page.getByRole("button", { name: pane, exact: true }).click();
            const where = `${scene}, ${pane ?? "whole"}, ${width}, ${colorScheme}`;
            assertEquals(await violations(page), [], where);
            assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `too wide: ${where}`);
          }
        }
        assertEquals(errors, []);
        await page.context().close();
      }
    }
    console.log(`screenshots: ${shots}`);
  });

  await t.step(
    "a compaction: asked for by a button and by /compact, shown while it runs and after, with what it stands for",
    async () => {
      const { page } = await pages.scene("compacted");
      const card = page.locator(".compaction-done");
      await card.waitFor();
      assertMatch(await card.innerText(), /2 messages of about 1234 tokens became about \d+/);
      // What the model does not read any more stands above it, as it was said.
      assertMatch(await page.locator(".entry-person .said").first().innerText(), /pay 10 to alice/);
      await card.getByText("The summary that the model reads instead").click();
      assertMatch(await card.locator(".said").innerText(), /Primary Request and Intent/);
      await card.getByRole("button", { name: "#3" }).click();
      await page.getByRole("button", { name: "Compact", exact: true }).click();
      await asked(page, "compact");
      await page.locator("#message").fill("/compact");
      await page.keyboard.press("Enter");
      await page.locator("#message").fill("/compact now please");
      await page.keyboard.press("Enter");
      await page.getByText("it takes no arguments").waitFor();
      assertEquals((await callsOf(page, "compact")).length, 2);
      assertEquals(await callsOf(page, "send"), []);
      await page.context().close();

      const running = (await pages.scene("compacting")).page;
      await running.locator(".compaction-running").getByRole("button", { name: "Stop" }).click();
      await asked(running, "cancel");
      await running.context().close();
    },
  );

  await t.step("a visitor without a mouse: suggestion, send, question, later, reject", async () => {
    const { page } = await pages.scene("welcome");
    await tabTo(page, "pay 10 to alice");
    await page.keyboard.press("Enter");
    assertEquals(await page.evaluate(() => document.activeElement?.id), "message");
    await page.keyboard.press("Enter");
    await asked(page, "send");
    const [sent] = await callsOf(page, "send");
    assertEquals((sent as { text: string }).text, "pay 10 to alice");
    await page.context().close();

    const question = (await pages.scene("question")).page;
    const dialog = question.getByRole("dialog");
    await dialog.waitFor();
    assertEquals(await focused(question), "Reject");
    // Whoever types on blindly approves nothing: Esc leaves the question open, any number of times.
    await question.keyboard.press("Escape");
    await question.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assertEquals(await callsOf(question, "answer"), []);
    await question.getByText("waits for your answer").waitFor();
    await question.evaluate(() => (document.activeElement as HTMLElement).blur());
    await question.keyboard.press("q");
    await dialog.waitFor();
    assertEquals(await focused(question), "Reject");
    await question.keyboard.press("Enter");
    await asked(question, "answer");
    assertEquals((await callsOf(question, "answer") as { decision: string }[])[0]?.decision, "rejected");
    await question.context().close();
  });

  await t.step("approval needs its own button, and the question shows the log's text as text", async () => {
    const { page, errors } = await pages.scene("hostile");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    assertMatch(await dialog.innerText(), /"to": "<img src=x onerror=alert\(1\)>"/);
    assertEquals(await dialog.locator("img").count(), 0);
    await page.keyboard.press("Tab");
    assertEquals(await focused(page), "Approve once");
    await page.keyboard.press("Enter");
    await asked(page, "answer");
    assertEquals((await callsOf(page, "answer") as { decision: string }[])[0]?.decision, "allowed-once");
    assertEquals(errors, []);
    await page.context().close();
  });

  await t.step("a file write is shown as a diff", async () => {
    const { page } = await pages.scene("file");
    const lines = await page.locator(".diff-line").allInnerTexts();
    assertEquals(lines.map((line) => line.trimEnd()), ["  milk", "  bread", "− six eggs", "+ twelve eggs", "+ coffee"]);
    await page.context().close();
  });

  await t.step("a model's text loads nothing, submits nothing and runs nothing", async () => {
    const { page, errors } = await pages.scene("done");
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (new URL(request.url()).hostname !== "127.0.0.1") foreign.push(request.url());
    });
    await page.reload();
    const text = page.locator(".markdown").last();
    await text.waitFor();
    assertMatch(await text.innerText(), /what I did/);
    assertEquals(await text.locator("img, form, input, style, script, iframe, svg").count(), 0);
    assertEquals(await text.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href"))), [
      "https://example.com",
      null,
    ]);
    assertEquals(await text.locator("a").first().getAttribute("rel"), "noopener noreferrer nofollow");
    assertEquals(await page.evaluate(() => "pwned" in globalThis), false);
    assertEquals([foreign, errors], [[], []]);
    await page.context().close();
  });

  await t.step("the log by keys: focus, ends, pages, the event beside it", async () => {
    const { page } = await pages.scene("done");
    await page.locator(".row").first().waitFor();
    await page.keyboard.press("l");
    await page.locator(".timeline:focus").waitFor();
    const active = () => page.locator(".timeline").getAttribute("aria-activedescendant");
    await page.keyboard.press("End");
    await page.locator("#event-14[aria-selected=true]").waitFor();
    assertEquals(await active(), "event-14");
    await page.keyboard.press("ArrowUp");
    await page.locator("#event-13[aria-selected=true]").waitFor();
    await page.keyboard.press("Home");
    await page.locator("#event-0[aria-selected=true]").waitFor();
    assertEquals([await page.locator("#event-0").getAttribute("aria-posinset")], ["1"]);
    assertMatch(await page.locator(".detail").innerText(), /checkpoint\/policy/);
    await page.keyboard.press("Escape");
    await page.locator(".detail").waitFor({ state: "detached" });
    await page.locator("[role=tab][aria-selected=true]").focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tab", { name: "What the model sees", selected: true }).waitFor();
    assertMatch(await page.locator(".surface").innerText(), /pay 10 to alice/);
    await page.context().close();
  });

  await t.step("durable and pending differ by more than colour", async () => {
    const { page } = await pages.scene("done");
    assertMatch(await page.locator("#event-12").innerText(), /durable/);
    assertMatch(await page.locator("#event-13").innerText(), /pending/);
    const borders = await page.locator("#event-12 .mark, #event-13 .mark").evaluateAll((marks) =>
      marks.map((mark) => getComputedStyle(mark).borderTopStyle)
    );
    assertEquals(borders, ["solid", "dashed"]);
    assertMatch(await page.locator(".durability").innerText(), /durable through[^]*12[^]*2 events[^]*612 B/);
    await page.context().close();
  });

  await t.step(
    "the browser is asked to keep the data once something was written, and the answer is shown",
    async () => {
      const { page } = await pages.scene("done");
      await asked(page, "persisted");
      assertMatch(await page.locator(".durability").innerText(), /the browser agreed|asked; the browser may evict it/);
      const welcome = (await pages.scene("welcome")).page;
      await welcome.getByText("Ask it to pay").waitFor();
      assertEquals(await callsOf(welcome, "persisted"), []);
      await Promise.all([page.context().close(), welcome.context().close()]);
    },
  );

  await t.step("an unknown outcome: evidence, the bank's truth, three buttons, a note", async () => {
    const { page } = await pages.scene("unknown");
    const card = page.locator(".unknown");
    await card.waitFor();
    await card.getByText("holds 10 to alice under this key").waitFor();
    assertMatch(await card.innerText(), /outcome_unknown: it may have taken effect[^]*It is keyed/);
    // Which event, which frame: each proof can be looked up in the log beside it and in the file.
    await card.getByText("frame 3, byte 920 of the file").waitFor();
    assertEquals(await card.locator(".proofs li").allInnerTexts(), [
      "event 6 it was recorded, before policy and people were asked\nframe 2, byte 676 of the file",
      "event 10 it was dispatched (effect keyed, key 3f2a9c0d51b84e7f9a6c2d1e0b7f4a58): from here on its body may run\n" +
      "frame 3, byte 920 of the file",
      "event 11 its result does not tell whether it took effect\nframe 3, byte 981 of the file",
    ]);
    await card.getByRole("button", { name: "event 10" }).click();
    await page.locator("#event-10[aria-selected=true]").waitFor();
    assertMatch(await page.locator(".detail").innerText(), /effect\/dispatched/);
    assertEquals(await card.locator(".choices button").allInnerTexts(), [
      "It happened",
      "It did not happen",
      "Allow a retry",
    ]);
    await card.getByLabel("How do you know?").fill("the bank told me");
    await card.getByRole("button", { name: "It happened" }).click();
    await asked(page, "settle");
    const [settled] = await callsOf(page, "settle") as { callSeq: number; verdict: string; note: string }[];
    assertEquals([settled?.callSeq, settled?.verdict, settled?.note], [6, "happened", "the bank told me"]);
    await page.context().close();
  });

  await t.step(
    "a verdict that the bank contradicts is warned about, and taken all the same when it is given twice",
    async () => {
      const { page } = await pages.scene("unknown");
      const card = page.locator(".unknown");
      await card.getByRole("button", { name: "It did not happen" }).click();
      await card.getByRole("alert").waitFor();
      assertMatch(await card.getByRole("alert").innerText(), /not what its book says: .*holds 10 to alice/);
      assertEquals(await callsOf(page, "settle"), []);
      await card.getByRole("button", { name: "It did not happen all the same" }).click();
      await asked(page, "settle");
      assertEquals((await callsOf(page, "settle") as { verdict: string }[]).map(({ verdict }) => verdict), ["absent"]);
      await page.context().close();
    },
  );

  await t.step(
    "whoever goes on keeps an unknown in one line below what is new, which says what it was and unfolds",
    async () => {
      const { page } = await pages.scene("gone_on");
      const card = page.locator(".unknown");
      await card.waitFor();
      assertMatch(await card.innerText(), /^Did pay \{.*alice.*\} happen\? The log cannot tell\.\s+Settle it$/);
      await page.getByRole("paragraph").getByText("Two files are there").waitFor();
      await card.getByRole("button", { name: "Settle it" }).click();
      await card.getByRole("button", { name: "It happened" }).click();
      await asked(page, "settle");
      await page.context().close();
    },
  );

  await t.step("a retry that nothing protects from a second effect needs a second press", async () => {
    const { page } = await pages.scene("opaque");
    const card = page.locator(".unknown");
    assertMatch(await card.innerText(), /It is opaque: nothing protects/);
    await card.getByRole("button", { name: "Allow a retry" }).click();
    await card.getByRole("alert").getByText("it may then have happened twice").waitFor();
    assertEquals(await callsOf(page, "settle"), []);
    await card.getByRole("button", { name: "Allow a retry all the same" }).click();
    await asked(page, "settle");
    assertEquals((await callsOf(page, "settle") as { verdict: string }[]).map(({ verdict }) => verdict), ["retry"]);
    await page.context().close();
  });

  await t.step("a question about a repetition says so, to those who see it and to those who hear it", async () => {
    const { page } = await pages.scene("repeats");
    const dialog = page.getByRole("dialog");
    assertMatch(await dialog.innerText(), /May pay run again\?[^]*second time[^]*event 6 [^]*nothing protects/);
    const described = await dialog.getAttribute("aria-describedby");
    assert(described!.split(" ").includes(await dialog.locator(".repeats").getAttribute("id") ?? "none"));
    await page.keyboard.press("Escape");
    // What may be the first time is settled where its evidence stands.
    await page.locator(".unknown").getByRole("button", { name: "It did not happen" }).waitFor();
    const first = (await pages.scene("question")).page;
    assertMatch(await first.getByRole("dialog").innerText(), /May pay run\?/);
    assertEquals(await first.locator(".repeats").count(), 0);
    await Promise.all([page.context().close(), first.context().close()]);
  });

  await t.step("an allowed retry says what comes next, and is not offered again", async () => {
    const { page } = await pages.scene("retry");
    const card = page.locator(".unknown");
    await card.getByText("Tell the agent to do it again").waitFor();
    assertEquals(await card.locator(".choices button").allInnerTexts(), ["It happened", "It did not happen"]);
    await page.context().close();
  });

  await t.step("what is settled is only a line of the notice, and the call says so", async () => {
    const { page } = await pages.scene("settled");
    await page.locator(".settled").waitFor();
    assertMatch(await page.locator(".settled").innerText(), /pay settled: it happened/);
    assertEquals(await page.getByText("somebody has to look").count(), 0);
    assertMatch(await page.locator(".outcome").innerText(), /settled: it happened/);
    await page.context().close();
  });

  await t.step("the list marks what waits for a person, and names sessions", async () => {
    const { page } = await pages.scene("unknown");
    const row = page.locator(".session.chosen");
    await row.locator(".name").waitFor();
    assertEquals([await row.locator(".state").innerText(), await row.locator(".name").innerText()], [
      "!",
      "pay 10 to alice",
    ]);
    assertEquals(await page.locator(".session").last().locator(".state").innerText(), "✕");
    const question = (await pages.scene("question")).page;
    await question.keyboard.press("Escape");
    assertEquals(await question.locator(".session.chosen .state").innerText(), "?");
    assertMatch(await question.locator(".session.chosen").innerText(), /asks you[^]*a question is open/);
    await Promise.all([page.context().close(), question.context().close()]);
  });

  await t.step("the question itself offers the crashes of the story: approving and crashing is one press", async () => {
    const { page } = await pages.scene("question");
    await page.getByRole("dialog").waitFor();
    await page.locator(".approve[aria-disabled=false]").waitFor();
    await page.getByRole("button", { name: "Approve, and crash before it runs" }).click();
    await asked(page, "answer");
    assertEquals((await callsOf(page, "crash") as { at: string }[]).map(({ at }) => at), ["before-effect"]);
    assertEquals((await callsOf(page, "answer") as { decision: string }[])[0]?.decision, "allowed-once");
    await page.getByRole("button", { name: "Crash now, unanswered" }).click();
    await page.waitForFunction(() =>
      (globalThis as unknown as { calls: { verb: string }[] }).calls.filter(({ verb }) => verb === "hello").length === 2
    );
    assertEquals((await callsOf(page, "answer")).length, 1);
    await page.context().close();
  });

  await t.step(
    "a problem is seen in every pane of a phone, with its words, and an id that is taken can be opened",
    async () => {
      const { page } = await pages.scene("taken", { viewport: { width: 390, height: 800 } });
      await page.locator(".entry").first().waitFor();
      for (const pane of await panes(page)) {
        await page.getByRole("button", { name: pane!, exact: true }).click();
        if (await page.locator(".problem").count() === 0) {
          await page.getByLabel("Import a log").setInputFiles({
            name: "a.zstd",
            mimeType: "",
            buffer: Buffer.from([1]),
          });
        }
        await page.locator(".problem").waitFor();
        assertMatch(await page.locator(".problem").innerText(), /ALREADY_EXISTS.*01ky2n4c9dk30w.*here already/s);
      }
      assertEquals(await violations(page), []);
      await page.getByRole("button", { name: "Open it" }).click();
      await page.locator(".problem").waitFor({ state: "detached" });
      assertEquals((await callsOf(page, "attach") as { id: string }[]).at(-1)?.id, "01ky2n4c9dk30w");
      await page.getByRole("button", { name: "Keys" }).click();
      await page.getByRole("dialog").getByText("the outcome that is unknown").waitFor();
      await page.context().close();
    },
  );

  await t.step(
    "the focus is never lost: q finds what is unknown, and after a crash it is there by itself",
    async () => {
      const { page } = await pages.scene("unknown");
      await page.locator(".unknown").waitFor();
      await page.keyboard.press("q");
      await page.locator(".unknown:focus").waitFor();
      await page.keyboard.press("x");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.activeElement !== document.body);
      await page.locator("#message").focus();
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
      await page.keyboard.press("x");
      await page.locator(".menu button").first().evaluate((button: HTMLElement) => button.blur());
      await page.locator(".menu button").first().evaluate((button: HTMLElement) => button.click());
      await page.waitForFunction(() => document.activeElement !== document.body);
      await page.context().close();
    },
  );

  await t.step("a log goes out with one click, and comes in by a drop", async () => {
    const { page } = await pages.scene("done");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    assertMatch(download.suggestedFilename(), /^[\w-]+\.v3\.jsonl\.zstd$/);
    assert(!download.suggestedFilename().startsWith("session"));
    assertEquals([...await Deno.readFile(await download.path())], [0x28, 0xb5, 0x2f, 0xfd]);
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([new Uint8Array([0x28, 0xb5])], "a.zstd"));
      document.querySelector(".desk")!.dispatchEvent(
        new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }),
      );
    });
    await asked(page, "import");
    const [taken] = await callsOf(page, "import") as { name: string; bytes: Record<string, number> }[];
    assertEquals([taken?.name, Object.values(taken!.bytes)], ["a.zstd", [0x28, 0xb5]]);
    await page.context().close();
  });

  await t.step("the crash menu by keys: it arms, it kills, and the page goes on", async () => {
    const { page } = await pages.scene("done");
    await page.locator(".entry").first().waitFor();
    await page.keyboard.press("x");
    assertMatch(await focused(page) ?? "", /^Kill the worker now/);
    await page.keyboard.press("Escape");
    assertEquals([await page.locator(".menu").isVisible(), await focused(page)], [false, "Crash it"]);
    await page.keyboard.press("Enter");
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press("Tab");
    assertMatch(await focused(page) ?? "", /^Kill between barrier and effect/);
    await page.keyboard.press("Enter");
    await page.getByText("Crash armed").waitFor();
    assertEquals((await callsOf(page, "crash") as { at: string }[]).map(({ at }) => at), ["before-effect"]);
    await page.keyboard.press("x");
    await page.keyboard.press("Enter");
    await page.getByText("Crash it").waitFor();
    assertEquals((await callsOf(page, "hello")).length, 2);
    assertEquals((await callsOf(page, "attach")).length, 2);
    await page.context().close();
  });

  await t.step("a stuck owner and a damaged log are shown, named, and not written to", async () => {
    for (
      const [scene, words] of [["stuck", /froze[^]*Wake or close/], ["damaged", /CORRUPT_FRAME[^]*checksum/]] as const
    ) {
      const { page } = await pages.scene(scene);
      await page.locator(".entry").first().waitFor();
      assertMatch(await page.locator(".role").innerText(), words);
      assertEquals(await page.locator("#message").isDisabled(), true);
      await page.context().close();
    }
  });

  await t.step("no medium: the cause is named, and memory is used only by an explicit choice", async () => {
    const { page } = await pages.scene("unusable");
    await page.getByText("private windows give no access").waitFor();
    assertEquals((await callsOf(page, "hello") as { volatile?: boolean }[]).map(({ volatile }) => volatile), [false]);
    await page.getByRole("button", { name: /volatile/ }).click();
    await page.getByText("nothing here survives").waitFor();
    assertEquals((await callsOf(page, "hello") as { volatile?: boolean }[]).at(-1)?.volatile, true);

    await page.goto(page.url().replace("unusable", "lost"));
    await page.getByText("2 sessions are gone").waitFor();
    assertEquals(await page.locator(".lost code").allInnerTexts(), ["01ky2n4c9dk30w", "01kxwz81rt6vma"]);
    await page.goto(page.url().replace("lost", "silent"));
    await page.getByText("The worker does not answer").waitFor();
    await page.context().close();
  });

  await t.step("reduced motion stands still", async () => {
    const { page } = await pages.scene("streaming", { reducedMotion: "reduce" });
    await page.locator(".entry-live").waitFor();
    const names = await page.evaluate(() =>
      [...document.querySelectorAll("*")].map((element) => getComputedStyle(element).animationName)
    );
    assertEquals([...new Set(names)], ["none"]);
    await page.context().close();
  });

  await t.step("100,000 events: few rows exist, and 120 jumps hold up nobody", async () => {
    const { page, errors } = await pages.scene("long");
    await page.locator("#event-99999").waitFor();
    const session = await page.context().newCDPSession(page);
    // The thread's own time: on a busy machine the wall clock says more about the others.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const cpuMs = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration")!.value * 1000;
    };
    // Chromium's own long tasks (over 50 ms by the wall clock) are counted and printed: on a quiet machine there are none.
    await page.evaluate(() => {
      const lengths: number[] = [];
      Object.assign(globalThis, { longTasks: lengths });
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) lengths.push(duration);
      }).observe({ type: "longtask" });
    });
    let state = 7;
    let worstMs = 0;
    let rowsMost = 0;
    for (let jump = 0; jump < JUMPS; jump++) {
      state = (state * 48271) % 2147483647;
      const beforeMs = await cpuMs();
      const rows = await page.evaluate(async (share) => {
        const box = document.querySelector(".timeline")!;
        box.scrollTop = share * (box.scrollHeight - box.clientHeight);
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return document.querySelectorAll(".timeline [role=option]").length;
      }, state / 2147483647);
      worstMs = Math.max(worstMs, await cpuMs() - beforeMs);
      rowsMost = Math.max(rowsMost, rows);
    }
    assert(rowsMost > 20 && rowsMost <= ROWS_IN_DOM_MAX, `${rowsMost} rows in the DOM`);
    assert(worstMs <= JUMP_CPU_MS_MAX, `a jump took ${worstMs.toFixed(1)} ms of the page's thread`);
    // Where the jumping ends, every row is filled.
    await page.waitForFunction(() =>
      ![...document.querySelectorAll(".row .type")].some((type) => type.textContent === "…")
    );
    await page.locator(".timeline").focus();
    await page.keyboard.press("Home");
    await page.locator("#event-0[aria-selected=true]").waitFor();
    assertEquals(await page.locator("#event-0").getAttribute("aria-setsize"), "100000");
    assertEquals(errors, []);
    const longTasks = await page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks);
    console.log(
      `worst of ${JUMPS} jumps: ${worstMs.toFixed(1)} ms of the page's thread, ${rowsMost} rows, ` +
        `${longTasks.length} long tasks by the wall clock${
          longTasks.length > 0 ? ` (${longTasks.join(", ")} ms)` : ""
        }`,
    );
    await page.context().close();
  });
});

/** Waits until the scene stands. */
async function drawn(page: Page, scene: string): Promise<void> {
  const signs: Record<string, string> = {
    welcome: ".welcome",
    streaming: ".entry-live",
    question: "dialog[open]",
    file: ".diff-line",
    unknown: ".place:not(:empty)",
    repeats: "dialog[open]",
    settled: ".settled",
    compacted: ".compaction-done",
    lost: ".lost",
    unusable: "#unusable-title",
  };
  await page.locator(signs[scene] ?? ".entry-call").first().waitFor();
}

/** The panes a phone shows one at a time, and `null` where everything is on the screen. */
async function panes(page: Page): Promise<(string | null)[]> {
  if (await page.locator("dialog[open], .screen").count() > 0 || !await page.locator(".panes").isVisible()) {
    return [null];
  }
  return await page.locator(".panes button:enabled").allInnerTexts();
}

/** What axe calls serious or critical. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })") as axe.AxeResults;
  return found.violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) =>
    `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`
  );
}

/** What the page asked its worker, by verb. */
function callsOf(page: Page, verb: string): Promise<unknown[]> {
  return page.evaluate(
    (verb) =>
      (globalThis as unknown as { calls: { verb: string; ask: unknown }[] }).calls.filter((call) => call.verb === verb)
        .map(({ ask }) => ask),
    verb,
  );
}

/** Waits until the page has asked. */
async function asked(page: Page, verb: string): Promise<void> {
  await page.waitForFunction(
    (verb) => (globalThis as unknown as { calls: { verb: string }[] }).calls.some((call) => call.verb === verb),
    verb,
  );
}

function focused(page: Page): Promise<string | undefined> {
  return page.evaluate(() => document.activeElement?.textContent ?? undefined);
}

/** Presses Tab until something with this text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press("Tab");
    if (await focused(page) === text) return;
  }
  throw new Error(`Cannot reach "${text}" by Tab`);
}
