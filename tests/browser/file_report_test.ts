import { Buffer } from "node:buffer";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import axe from "axe-core";
import type { Page } from "playwright";
import { CLAUDE_CODE, fileOf } from "../foreign/foreign_support.ts";
import { smallOldLog } from "../journal/small_old_log.ts";
import { Story } from "./support/story_site.ts";

const HOSTILE = '<img src=x onerror="window.pwned=1">\u202e';

const HEADER = { type: "session", version: 3, id: "bent", createdAt: 1, isSeeded: false, delegationDepth: 0 };
const message = { id: "m", role: "user", content: [{ type: "text", text: "still here" }], source: { kind: "user" } };
const ROWS = [
  { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } },
  { type: "step/start", seq: 1, time: 2, data: { turn: 1, step: 1 } },
  { type: "user/message", seq: 2, time: 3, data: message, surfaceOp: "append" },
  { type: "step/end", seq: 3, time: 4, data: { turn: 1, step: 1 } },
  { type: "turn/end", seq: 4, time: 5, data: { turn: 1, reason: { kind: "completed" } } },
];
const OTHER_END = { ...ROWS[4], time: 6, data: { turn: 1, reason: { kind: "blocked" } } };

/** Drops a file on the page, as a person does. */
async function drop(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  await page.evaluate(([name, base64]) => {
    const dataTransfer = new DataTransfer();
    const content = Uint8Array.from(atob(base64!), (unit) => unit.charCodeAt(0));
    dataTransfer.items.add(new File([content], name!));
    const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector(".desk")!.dispatchEvent(drop);
  }, [name, Buffer.from(bytes).toString("base64")]);
}

/** Says what axe finds wrong with the dialog. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  // deno-lint-ignore no-explicit-any -- the library put itself there
  const { violations } = await page.evaluate(() => (globalThis as any).axe.run("dialog[open]")) as {
    violations: { id: string; help: string }[];
  };
  return violations.map(({ id, help }) => `${id}: ${help}`);
}

const SHOTS = Deno.env.get("HOLDFAST_SHOTS");

/** Keeps a picture for whoever wants to look. */
async function shoot(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return;
  for (const [width, height] of [[1280, 800], [390, 760]] as const) {
    await page.setViewportSize({ width, height });
    await page.screenshot({ path: `${SHOTS}/${name}-${width}.png` });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

Deno.test("the real page says of a dropped file what it is and what is wrong with it, and takes in what can be made of it", async (t) => {
  await using story = await Story.open();
  const page = await story.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  const dialog = page.locator("dialog.file-report[open]");
  await page.getByLabel("Message", { exact: true }).waitFor();

  await t.step("a damaged log: the damage in words, and a salvage that opens as a new session", async () => {
    const bytes = fileOf(HEADER, ROWS[0], ROWS[1], HOSTILE, ...ROWS.slice(2));
    await drop(page, `bent${HOSTILE}.jsonl`, bytes);
    await dialog.waitFor();
    const text = (await dialog.textContent())!;
    for (const words of ["A damaged session log of version 3", "A line that is no event", "5 events kept", "U+202E"]) {
      assertStringIncludes(text, words);
    }
    assertEquals(await dialog.locator("img").count(), 0);
    assertEquals(await faultsOf(page), []);
    await shoot(page, "damaged");
    await dialog.getByRole("button", { name: "Salvage into a new session" }).click();
    await page.locator(".entry-person").getByText("still here").waitFor();
    assertEquals(await dialog.count(), 0);
    await page.locator(".row").getByText("log/salvaged").first().waitFor();
  });

  await t.step("the same log can be read up to the damage instead", async () => {
    await drop(page, "bent.jsonl", fileOf(HEADER, ROWS[0], ROWS[1], "{}", ...ROWS.slice(2)));
    await dialog.getByRole("button", { name: "Import, to read up to the damage" }).click();
    await page.getByText(/read-only/i).first().waitFor();
  });

  await t.step("a forked log: a branch can be left out", async () => {
    await drop(page, "forked.jsonl", fileOf(HEADER, ...ROWS, OTHER_END));
    await dialog.getByText("Branch A").waitFor();
    await shoot(page, "forked");
    await dialog.getByLabel(/Branch A/).uncheck();
    await dialog.getByRole("button", { name: "Salvage into a new session" }).click();
    await page.locator(".entry-person").getByText("still here").waitFor();
  });

  await t.step("an old log comes in as the current version, by the keyboard alone", async () => {
    await page.getByRole("button", { name: "New", exact: true }).click();
    await page.getByRole("heading", { name: "Ask it to pay, then crash it." }).waitFor();
    const chosen = page.waitForEvent("filechooser");
    const button = page.getByRole("button", { name: "Import", exact: true });
    await button.focus();
    await page.keyboard.press("Enter");
    const file = { name: "session.jsonl", mimeType: "application/octet-stream", buffer: Buffer.from(smallOldLog()) };
    await (await chosen).setFiles(file);
    await dialog.getByText("A session log of version 0.").waitFor();
    await shoot(page, "old");
    const importIt = dialog.getByRole("button", { name: "Import as the current version" });
    for (
      let presses = 0;
      presses < 10 && !(await importIt.evaluate((node) => node === document.activeElement));
      presses++
    ) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await page.locator(".entry-answer").getByText("Hello from long ago").waitFor();
  });

  await t.step(
    "a log of another program: what would be left out, and a new session that is named by what was asked",
    async () => {
      await drop(page, "theirs.jsonl", fileOf(...CLAUDE_CODE));
      await dialog.getByText("A session log of Claude Code.").waitFor();
      await dialog.getByText("a line of a subagent (sidechain)").waitFor();
      assertEquals(await faultsOf(page), []);
      await shoot(page, "foreign");
      await dialog.getByRole("button", { name: "Import as a new session" }).click();
      await page.locator(".entry-person").getByText("Find the bug").waitFor();
      await page.locator(".entry-answer").getByText("It is in a.ts.").waitFor();
    },
  );

  await t.step("a whole log opens without a question, and what is no log is refused in words", async () => {
    await drop(page, "whole.jsonl", fileOf({ ...HEADER, id: "whole" }, ...ROWS));
    await page.getByRole("listitem").filter({ hasText: "whole" }).first().waitFor();
    await drop(page, "no.txt", fileOf("hello"));
    await page.locator(".problem").getByText(/CORRUPT_LOG/).waitFor();
    assertEquals(await dialog.count(), 0);
  });

  await t.step("nothing of it was run", async () => {
    assert(!(await page.evaluate(() => "pwned" in globalThis)));
    assertEquals(errors, []);
  });
});
