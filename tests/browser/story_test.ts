import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright";
import { wholeLog } from "./support/judge.ts";
import { exportLog, say, Story } from "./support/story_site.ts";
import { verifyLogs } from "./support/verify.ts";

/** Either the worker could still close its turn, or the next one found it open: the log proves the same. */
const NOT_RUN = /^cancelled (?:ABORTED_BEFORE_DISPATCH|TOOL_NOT_STARTED)$/;

Deno.test("the story in the real page: a person allows, rejects, leaves during a question, and the log tells the truth", async (t) => {
  await using story = await Story.open();
  let page = await story.newPage();
  let fragment = "";

  if (
    !await t.step("prompt, call, dialog, approval, result", async () => {
      await say(page, "pay 10 to alice");
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      assertMatch(await dialog.innerText(), /nothing has run yet[^]*pay[^]*alice/i);
      assertEquals(await page.evaluate(() => document.activeElement?.textContent), "Reject");
      assertEquals(await paidTo(page), [], "paid before anybody answered");
      await dialog.getByRole("button", { name: "Approve once" }).click();
      await page.getByText("Paid 10 to alice").first().waitFor();
      await untilIdle(page);
      assertEquals(await paidTo(page), ["alice"]);
      fragment = new URL(page.url()).hash;
      assertEquals(await outcomes(page), ["allowed-once done"]);
    })
  ) return;

  if (
    !await t.step("a rejected call does not run", async () => {
      await say(page, "pay 20 to bob");
      await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await untilIdle(page);
      assertEquals(await paidTo(page), ["alice"]);
      assertEquals((await outcomes(page)).slice(1), ["rejected not done"]);
    })
  ) return;

  if (
    !await t.step("the tab is closed during the question: the tool did not run", async () => {
      await say(page, "pay 30 to carol");
      await page.getByRole("dialog").waitFor();
      await page.close();
      page = await story.newPage(fragment);
      await page.getByText("this tab writes the log").waitFor();
      await untilIdle(page);
      assertEquals(await paidTo(page), ["alice"]);
      assertMatch((await outcomes(page)).slice(2).join(), NOT_RUN);
    })
  ) return;

  if (
    !await t.step("the page is reloaded during the question: the tool did not run", async () => {
      await say(page, "pay 40 to dave");
      await page.getByRole("dialog").waitFor();
      await page.reload();
      await page.getByText("this tab writes the log").waitFor();
      await untilIdle(page);
      assertEquals(await paidTo(page), ["alice"]);
      assertMatch((await outcomes(page)).slice(3).join(), NOT_RUN);
    })
  ) return;

  await t.step("and the session goes on", async () => {
    await say(page, "pay 50 to erin");
    await page.getByRole("dialog").getByRole("button", { name: "Approve once" }).click();
    await page.getByText("Paid 50 to erin").first().waitFor();
    await untilIdle(page);
    assertEquals(await paidTo(page), ["alice", "erin"]);
    assertEquals((await outcomes(page)).slice(4), ["allowed-once done"]);
  });
});

Deno.test("the crash menu of the real page: an armed crash leaves an unknown, the bank tells the truth, a person settles it", async (t) => {
  await using story = await Story.open();
  const page = await story.newPage();

  for (
    const { arm, payee, isPaid, settle, ends } of [
      { arm: /between barrier and effect/, payee: "alice", isPaid: false, settle: "It did not happen", ends: "absent" },
      { arm: /between effect and result/, payee: "bob", isPaid: true, settle: "It happened", ends: "happened" },
    ]
  ) {
    const isDone = await t.step(`killed ${arm.source}: outcome unknown, and then settled`, async () => {
      const before = await paidTo(page);
      await page.locator("summary").getByText("Crash it").click();
      await page.getByRole("button", { name: arm }).click();
      await say(page, `pay 10 to ${payee}`);
      await page.getByRole("dialog").getByRole("button", { name: "Approve once" }).click();
      await page.getByText("Opened after a crash, and repaired").waitFor();
      await page.getByRole("button", { name: settle }).waitFor();
      await untilIdle(page);
      assertEquals(await paidTo(page), isPaid ? [...before, payee] : before);
      assertEquals((await outcomes(page)).at(-1), "allowed-once TOOL_OUTCOME_UNKNOWN");
      await evidenceIsInTheFile(page);

      // The same once more is a question of its own kind, while it is not settled.
      await say(page, `pay 10 to ${payee}`);
      const again = page.getByRole("dialog");
      await again.getByText("This may be the second time").waitFor();
      assertMatch(await again.innerText(), /May pay run again\?/);
      await again.getByRole("button", { name: "Reject" }).click();
      await again.waitFor({ state: "detached" });
      await untilIdle(page);

      // What was said since then is above the card, so it is one line.
      await page.locator(".unknown").getByRole("button", { name: "Settle it" }).click();
      await page.getByRole("button", { name: settle }).click();
      await page.getByRole("button", { name: settle }).waitFor({ state: "detached" });
      await untilIdle(page);
      const { bytes } = await exportLog(page);
      const verdicts = wholeLog(bytes).filter(({ type }) => type === "effect/reconciled");
      assertEquals(JSON.parse(verdicts.at(-1)!.text).data.verdict, ends);
      assertEquals(await paidTo(page), isPaid ? [...before, payee] : before, "something was repeated");
      await page.getByRole("button", { name: "Understood" }).click();
    });
    if (!isDone) return;
  }
});

Deno.test("a log goes out of the real page and comes in again, byte for byte", async () => {
  await using story = await Story.open();
  const page = await story.newPage();
  await say(page, "list the files");
  await page.getByText("Done:").first().waitFor();
  await untilIdle(page);
  const first = await exportLog(page);
  const id = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("session")!;

  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("listitem").filter({ hasText: id }).hover();
  await page.getByRole("button", { name: `Delete session ${id}` }).click();
  await page.getByText("No sessions yet").waitFor();
  const file = { name: first.name, mimeType: "application/octet-stream", buffer: Buffer.from(first.bytes) };
  await page.getByLabel("Import a log").setInputFiles(file);
  await page.getByText("Done:").first().waitFor();
  const second = await exportLog(page);
  assertEquals(second.bytes, first.bytes);
  await verifyLogs(new Map([["the log that came back", second.bytes]]));
});

Deno.test("field/E09: the real page names the sessions whose files somebody cleared, and starts empty when that was noted", async () => {
  await using story = await Story.open();
  const page = await story.newPage();
  await say(page, "list the files");
  await page.getByText("Done:").first().waitFor();
  await untilIdle(page);
  const id = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("session")!;
  const devTools = await story.context.newCDPSession(page);
  await devTools.send("Storage.clearDataForOrigin", { origin: story.origin, storageTypes: "file_systems" });
  await page.reload();
  await page.getByText("gone from this browser").waitFor();
  assertMatch(await page.locator("main").innerText(), new RegExp(`STORAGE_LOST[^]*${id}`));
  await page.getByRole("button", { name: /start empty/ }).click();
  await page.getByText("No sessions yet").waitFor();
});

/** The card of the unknown names the marker's event, and the byte of the exported file at which the frame begins that holds it. */
async function evidenceIsInTheFile(page: Page): Promise<void> {
  const proof = await page.locator(".unknown .proofs li").nth(1).innerText();
  const [, seq, offsetBytes] = /^event (\d+) it was dispatched[^]*byte (\d+) of the file$/.exec(proof)!.map(Number);
  const { bytes } = await exportLog(page);
  assertEquals(wholeLog(bytes)[seq!]!.type, "effect/dispatched");
  const frame = bytes.subarray(offsetBytes!);
  assertEquals([...frame.subarray(0, 4)], [0x28, 0xb5, 0x2f, 0xfd]);
  assert(wholeLog(bytes.subarray(0, offsetBytes)).length <= seq!, "the event lies before its frame");
}

/** Whom the pretend bank has paid, by its own book. */
async function paidTo(page: Page): Promise<string[]> {
  return await page.evaluate(async () => {
    const opened = indexedDB.open("keyval-store");
    // It is not there before the worker makes it, and it is not made here.
    opened.onupgradeneeded = () => opened.transaction!.abort();
    const database = await new Promise<IDBDatabase | null>((done) => {
      opened.onsuccess = () => done(opened.result);
      opened.onerror = () => done(null);
    });
    if (database === null) return [];
    const versions = IDBKeyRange.bound(["holdfast-pretend-bank"], ["holdfast-pretend-bank", []]);
    const read = database.transaction("keyval").objectStore("keyval").openCursor(versions, "prev");
    const book = await new Promise<{ to: string }[] | undefined>((done) =>
      read.onsuccess = () => done(read.result?.value)
    );
    database.close();
    return (book ?? []).map(({ to }) => to);
  });
}

/** No turn runs, and nothing is pending. */
async function untilIdle(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  await page.locator(".durability:not(.at-risk)").waitFor();
}

/** Exports the log, has it verified by the command, and says of each call what was answered and how it ended. */
async function outcomes(page: Page): Promise<string[]> {
  const { name, bytes } = await exportLog(page);
  assertMatch(name, /\.jsonl\.zstd$/);
  const [verdict] = await verifyLogs(new Map([[name, bytes]]));
  assertEquals(verdict!.open, null);
  const rows = wholeLog(bytes);
  const results = rows.filter(({ type }) => type === "tool/result");
  const decisions = rows.filter(({ type }) => type === "approval/decided");
  return results.map(({ data }, index) => {
    const isError = data.message?.content.some((block) => block.isError === true);
    return `${decisions[index]?.data.outcome} ${data.error?.code ?? (isError ? "not done" : "done")}`;
  });
}
