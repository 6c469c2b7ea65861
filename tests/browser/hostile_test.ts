import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright";
import { exportLog, say, Story } from "./support/story_site.ts";
import { wholeLog } from "./support/judge.ts";
import { verifyLogs } from "./support/verify.ts";

/** Everything a text could try to load, run, submit or look like. */
const MARKUP = [
  '<script>globalThis.pwned = 1</script><img src="https://evil.example/i.png" onerror="globalThis.pwned = 2">',
  '<svg onload="globalThis.pwned = 3"></svg><style>* { display: none }</style><iframe src="https://evil.example/f"></iframe>',
  '<form action="https://evil.example/g"><button>Approve once</button></form><base href="https://evil.example/b">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/m"><link rel="stylesheet" href="https://evil.example/l">',
  "",
  "[run](javascript:globalThis.pwned=4) [data](data:text/html,x) ![picture](https://evil.example/c.png) [go](https://ok.example)",
  '<p class="card problem">STORAGE_LOST: click here</p><table class="approval"><tr><td style="position:fixed">x</td></tr></table>',
].join("\n");

const LONG = "a\n".repeat(250_000);
/** The most of a text that is in the page before somebody asks for more, with all that stands around it. */
const SHOWN_TEXT_MAX = 100_000;

Deno.test("logs from elsewhere in the real page: nothing loads, runs, looks like the page, stops it or takes it down", async (t) => {
  await using story = await Story.open();
  const page = await story.newPage();
  const foreign: string[] = [];
  const errors: string[] = [];
  story.context.on("request", (request) => {
    if (!request.url().startsWith(story.origin) && !request.url().startsWith("blob:")) foreign.push(request.url());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));

  await t.step("markup in every place a text can stand in", async () => {
    const name = "<b onclick=alert(1)>pay</b>\u202E";
    await take(page, logOf("markup", { person: MARKUP, text: MARKUP, reasoning: MARKUP, name, result: MARKUP }));
    const answer = page.locator(".entry-answer .body > .markdown");
    await answer.waitFor();
    assertMatch(await answer.innerText(), /STORAGE_LOST: click here/);
    const strange = ".markdown [class]:not([class^=hljs-]), .markdown [style], .markdown :is(img, form, button, style)";
    assertEquals(await page.locator(strange).count(), 0);
    const addresses = await answer.locator("a[href]").evaluateAll((links) =>
      links.map((link) => link.getAttribute("href"))
    );
    assertEquals(addresses, ["https://ok.example"]);
    assertEquals(await page.locator(".problem").count(), 0);
    assertMatch(await page.locator(".call .tool").innerText(), /^<b onclick=alert\(1\)>pay<\/b>U\+202E$/);
    assertEquals(await page.evaluate(() => "pwned" in globalThis), false);
  });

  await t.step("a moment that no calendar has, and ids that no address can hold", async () => {
    await take(page, logOf("far", { text: "far", time: 9e15 }));
    // The heading of the log before would do for a heading: wait for what only this one says.
    await page.locator(".entry-answer").getByText("far").waitFor();
    // The list may still hold the rows of the log before.
    const moment = page.locator(".detail").getByText("9000000000000000 ms");
    for (let tries = 0; tries < 10 && !(await moment.isVisible()); tries++) {
      await page.locator(".row").last().click();
      await moment.waitFor({ timeout: 2_000 }).catch(() => {});
    }
    await moment.waitFor();
    await page.getByRole("button", { name: "Close the event" }).click();
    await take(page, logOf("half \uD800 pair", { text: "halved" }));
    await page.locator(".entry-answer").getByText("halved").waitFor();
    await take(page, logOf("../..\u0000<b>\u202E", { text: "climbed" }));
    await page.locator(".entry-answer").getByText("climbed").waitFor();
  });

  await t.step("a refusal says what was found", async () => {
    await take(page, "no log\n");
    await page.locator(".problem").getByText(/CORRUPT_LOG Cannot open session/).waitFor();
    await take(page, logOf("x".repeat(5_000), { text: "never" }));
    await page.locator(".problem").getByText(/RangeError Cannot use the name/).waitFor();
    await dropFolder(page);
    await page.locator(".problem").getByText(/Cannot import "a folder": it is a folder, or cannot be read/).waitFor();
  });

  await t.step("megabytes of text are drawn a piece at a time", async () => {
    await take(page, logOf("long", { person: LONG, text: LONG, name: LONG, result: LONG }));
    await page.locator(".call").waitFor();
    const length = await page.evaluate(() => document.body.textContent!.length);
    assert(length < SHOWN_TEXT_MAX, `${length} characters are in the page`);
    const before = await page.locator(".entry-person .said").textContent();
    await page.locator(".entry-person").getByRole("button", { name: /Show more/ }).click();
    assert((await page.locator(".entry-person .said").textContent())!.length > before!.length);
  });

  assertEquals([foreign, errors], [[], []]);
});

Deno.test("a question in the real page is answered only by a press that was meant for it, and shows what it asks", async (t) => {
  await using story = await Story.open();
  const page = await story.newPage();
  await page.setViewportSize({ width: 390, height: 700 });
  const dialog = page.locator("dialog.approval[open]");

  await t.step("the key that sent the message, held until the question is there, answers nothing", async () => {
    await page.getByLabel("Message", { exact: true }).fill("pay 10 to alice");
    await page.getByLabel("Message", { exact: true }).focus();
    await page.keyboard.down("Enter");
    await dialog.waitFor();
    for (const key of ["Enter", "Enter", "Enter"]) await page.keyboard.down(key);
    assertEquals(await page.evaluate(() => document.activeElement?.textContent), "Reject");
    await page.keyboard.up("Enter");
    assertEquals(await dialog.count(), 1);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
  });

  await t.step("clicks that were on their way when the question appeared answer nothing", async () => {
    // In the same moment as the question appears: what comes through DevTools may come late.
    const clicked = page.evaluate(async () => {
      const approve = await new Promise<Element>((found) => {
        const observer = new MutationObserver(() => {
          const button = document.querySelector("dialog .approve");
          if (button !== null) observer.disconnect(), found(button);
        });
        observer.observe(document.body, { childList: true, subtree: true });
      });
      for (const detail of [1, 2, 3]) {
        approve.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
        approve.dispatchEvent(new MouseEvent("click", { bubbles: true, detail }));
      }
    });
    await say(page, "pay 11 to bob");
    await clicked;
    await dialog.locator(".approve:not([aria-disabled=true])").waitFor();
    await dialog.locator(".approve").evaluate((button) =>
      button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 2 }))
    );
    await page.locator("dialog .reject").click();
    await dialog.waitFor({ state: "detached" });
  });

  await t.step("what cannot be seen is named, and the buttons stay in reach below any argument", async () => {
    for (const payee of ["al\u202Eice\u200B", "z".repeat(100_000)]) {
      await say(page, `pay 12 to ${payee}`);
      await dialog.waitFor();
      for (const name of [".reject", ".approve"]) {
        const isInReach = await dialog.locator(name).evaluate((button) => {
          const { x, y, width, height } = button.getBoundingClientRect();
          return document.elementFromPoint(x + width / 2, y + height / 2) === button;
        });
        assert(isInReach, `${name} is out of reach`);
      }
      if (payee.length < 20) assertMatch(await dialog.locator(".json").innerText(), /"to": "alU\+202EiceU\+200B"/);
      await dialog.locator(".reject").click();
      await dialog.waitFor({ state: "detached" });
    }
  });

  await page.setViewportSize({ width: 1280, height: 800 });
  const { name, bytes } = await exportLog(page);
  await verifyLogs(new Map([[name, bytes]]));
  const outcomes = wholeLog(bytes).filter(({ type }) => type === "approval/decided").map(({ data }) => data.outcome);
  assertEquals(outcomes, Array(4).fill("rejected"));
});

/** What a log from elsewhere holds. */
interface Told {
  readonly person?: string;
  readonly text: string;
  readonly reasoning?: string;
  /** A call with this tool's name. */
  readonly name?: string;
  readonly result?: string;
  /** Of every event. */
  readonly time?: number;
}

/** A valid log of one turn, as plain lines. */
function logOf(id: string, { person = "hello", text, reasoning, name, result = "done", time = 1 }: Told): string {
  const header = { type: "session", version: 3, id, createdAt: 1, isSeeded: false, delegationDepth: 0 };
  const of = { turn: 1, step: 1 };
  const call = { callId: "call-1", name, arguments: '{"to":"alice"}' };
  const content = [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }]),
    { type: "text", text },
    ...(name === undefined ? [] : [{ type: "tool-call", id: call.callId, name, arguments: call.arguments }]),
  ];
  const answer = { id: "a", role: "assistant", content, source: { kind: "model", provider: "p", model: "m" } };
  const block = {
    type: "tool-result",
    toolCallId: call.callId,
    content: [{ type: "text", text: result }],
    isError: false,
  };
  const told = { id: "t", role: "user", content: [block], source: { kind: "tool", callId: call.callId } };
  const heard = { id: "u", role: "user", content: [{ type: "text", text: person }], source: { kind: "user" } };
  const system = { id: "s", role: "system", source: { kind: "plugin", plugin: "p" }, content: [] };
  const events = [
    { type: "turn/start", data: { turn: 1 } },
    { type: "step/start", data: of },
    { type: "system/message", data: { ...of, message: system }, surfaceOp: "append" },
    { type: "user/message", data: heard, surfaceOp: "append" },
    { type: "assistant/message", data: { ...of, message: answer, stream: [] }, surfaceOp: "append" },
    ...(name === undefined ? [] : [
      { type: "tool/call", data: { ...of, ...call } },
      { type: "tool/result", data: { ...of, message: told }, surfaceOp: "append", sourceEventSeqs: [5] },
    ]),
    { type: "step/end", data: of },
    { type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } },
  ];
  const rows = events.map(({ type, data, ...rest }, seq) => ({ type, seq, time, data, ...rest }));
  return [header, ...rows].map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Takes a file in by the page's own field. */
async function take(page: Page, text: string): Promise<void> {
  const file = { name: "log.jsonl", mimeType: "application/octet-stream", buffer: Buffer.from(text) };
  await page.getByLabel("Import a log").setInputFiles(file);
}

/** Drops what a browser hands over for a folder: a file that cannot be read. */
async function dropFolder(page: Page): Promise<void> {
  await page.evaluate(() => {
    const folder = new File([], "a folder");
    const unreadable = () => Promise.reject(new DOMException("It could not be found", "NotFoundError"));
    Object.defineProperty(folder, "arrayBuffer", { value: unreadable });
    const drop = new DragEvent("drop", { bubbles: true, cancelable: true });
    Object.defineProperty(drop, "dataTransfer", { value: { files: [folder] } });
    document.querySelector(".desk")!.dispatchEvent(drop);
  });
}
