/** Cases that were seen in the field, by their ids, in a real Chromium. */
import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { firstRole, Lab, type LabTab, Refused } from "./support/lab.ts";
import { judgeLog } from "./support/judge_log.ts";
import { wholeLog } from "./support/judge.ts";
import type { RemoteDelays } from "./support/remote.ts";
import { Story } from "./support/story_site.ts";
import { verifyLogs } from "./support/verify.ts";

/** What the cases promise, in milliseconds. */
const REFUSED_MS_MAX = 1_000;
const SAID_MS_MAX = 2_000;
const TAKEOVER_MS_MAX = 3_000;

Deno.test("field/E01: the second of two workers in one tab is refused with LOCK_HELD within 1 s, and gets the session when the first lets go", async (t) => {
  await using lab = await Lab.open();
  const tab = await lab.openTab("two stores");
  const id = "shared";
  assertEquals((await tab.store("first", { verb: "create", id })).refused, null);
  assertEquals((await tab.store("first", { verb: "open", id })).refused, null);

  await t.step("while the first writes", async () => {
    const { refused, tookMs } = await tab.store("second", { verb: "open", id });
    assertEquals(refused?.code, "LOCK_HELD");
    assertEquals(refused?.name, "LockHeldError");
    assertLess(tookMs, REFUSED_MS_MAX);
    const appended = await tab.store("first", { verb: "append", id, text: "the first still writes" });
    assertEquals(appended.refused, null);
  });

  await t.step("after the first let go", async () => {
    await tab.store("first", { verb: "release", id });
    assertEquals((await tab.store("second", { verb: "open", id })).refused, null);
    assertEquals((await tab.store("second", { verb: "append", id, text: "now the second" })).refused, null);
    assertEquals((await tab.store("first", { verb: "open", id })).refused?.code, "LOCK_HELD");
  });

  await t.step("after the second was ended by a crash", async () => {
    await tab.tab.evaluate(`lab.endStore("second")`);
    const beganMs = Date.now();
    let answer = await tab.store("first", { verb: "open", id });
    while (answer.refused?.code === "LOCK_HELD" && Date.now() - beganMs < TAKEOVER_MS_MAX) {
      answer = await tab.store("first", { verb: "open", id });
    }
    assertEquals(answer.refused, null);
    await tab.store("first", { verb: "release", id });
  });

  await t.step("nothing stays held", async () => {
    assertEquals(await heldLocks(tab.tab), []);
  });
});

Deno.test("field/E03: with five tabs a frozen owner blocks nobody, and is a viewer of what went on when it wakes", async (t) => {
  await using lab = await Lab.open();
  const owner = await lab.openTab("tab 0", { isWindow: true });
  const { id } = await owner.call("create", {});
  await owner.converse(id, "first", "first");
  const others: LabTab[] = [];
  for (let index = 1; index < 5; index++) {
    const tab = await lab.openTab(`tab ${index}`, { isWindow: true });
    await tab.call("attach", { id });
    await tab.untilRole(id, "viewer");
    others.push(tab);
  }

  await t.step("another tab takes over within 3 s", async () => {
    const frozenAt = Date.now();
    await owner.tab.freeze();
    const { at } = await firstRole(others, id, ["owner"], () => 0);
    assertLess(at - frozenAt, TAKEOVER_MS_MAX);
  });

  await t.step("and is used", async () => {
    for (const [index, tab] of others.entries()) {
      await tab.call("send", { id, inputId: `from-${index}`, text: `from ${index}` });
    }
  });

  await t.step("the frozen tab wakes as a viewer and can be used like any other", async () => {
    const from = owner.reports.length;
    await owner.tab.wake();
    await owner.untilRole(id, "viewer", from);
    await owner.converse(id, "last", "last");
    const told = [owner, ...others].flatMap((tab) => tab.toldByEachWorker(id));
    const log = await owner.export(id);
    const inputs = ["first", ...others.keys().map((index) => `from ${index}`), "last"];
    judgeLog({ rows: wholeLog(log), told, arrivals: [], inputs });
    await verifyLogs(new Map([["the log", log]]));
  });
});

Deno.test("field/E03: an owner frozen in a turn: the others say why within 3 s, and one goes on within 3 s of its wake", async () => {
  await frozenInTurn("wake");
});

Deno.test("field/E03: an owner frozen in a turn: one goes on within 3 s of its close", async () => {
  await frozenInTurn("close");
});

Deno.test("field/E03: an owner frozen in a turn before it could let go: the others say why within 3 s, and are free within 3 s of its wake", async () => {
  assertEquals(await frozenInTurn("wake", false), "stuck");
});

Deno.test("field/E03: an owner frozen in a turn before it could let go: another one goes on within 3 s of its close", async () => {
  assertEquals(await frozenInTurn("close", false), "stuck");
});

Deno.test("field/E03: a viewer that was frozen where it waited for the session is passed over: another one takes it within 3 s", async () => {
  await using lab = await Lab.open();
  const owner = await lab.openTab("owner", { isWindow: true });
  const { id } = await owner.call("create", {});
  await owner.converse(id, "first", "first");
  const frozen = await lab.openTab("frozen", { isWindow: true, follows: false });
  await frozen.call("attach", { id });
  await frozen.untilRole(id, "viewer");
  await frozen.tab.freeze();
  const other = await lab.openTab("other", { isWindow: true });
  await other.call("attach", { id });
  await other.untilRole(id, "viewer");

  const closedAt = Date.now();
  await owner.tab.close();
  const { at } = await firstRole([other], id, ["owner"], () => 0);
  assertLess(at - closedAt, TAKEOVER_MS_MAX);
  await other.converse(id, "second", "second");
  await frozen.tab.wake();
  await frozen.converse(id, "third", "third");
  const told = [owner, frozen, other].flatMap((tab) => tab.toldByEachWorker(id));
  const log = await other.export(id);
  judgeLog({ rows: wholeLog(log), told, arrivals: [], inputs: ["first", "second", "third"] });
});

/** Freezes the owner while the remote holds its payment, and ends the freeze. @returns how the freeze looked from outside */
async function frozenInTurn(end: "wake" | "close", follows = true): Promise<"stuck" | "owner"> {
  const delays = new Map<string, RemoteDelays>([["slow", { beforeMs: 400, afterMs: 2_000 }]]);
  await using lab = await Lab.open({ delays });
  const owner = await lab.openTab("frozen", { isWindow: true, follows });
  const { id } = await owner.call("create", {});
  await owner.tab.evaluate(`lab.allow({ slow: 0 })`);
  const viewer = await lab.openTab("other", { isWindow: true });
  await owner.call("send", { id, inputId: "pay", text: "pay 1 to slow" });
  await viewer.call("attach", { id });
  await viewer.untilRole(id, "viewer");
  while (lab.remote.arrivals.length === 0) await new Promise((over) => setTimeout(over, 10));

  const from = viewer.reports.length;
  const frozenAt = Date.now();
  await owner.tab.freeze();
  const { at, view } = await viewer.until("a reason or a takeover", () => {
    return viewer.views(id, from).find(({ view }) => view.role.kind === "stuck" || view.role.kind === "owner") ?? null;
  });
  assertLess(at - frozenAt, TAKEOVER_MS_MAX);
  console.log(`frozen in a turn: ${view.role.kind} after ${at - frozenAt} ms`);
  if (view.role.kind === "stuck") {
    assertMatch(view.role.reason, /"frozen"/);
    await viewer.call("send", { id, inputId: "early", text: "early" }).catch((error) => {
      assert(error instanceof Refused && error.code === "LOCK_HELD", String(error));
    });
  }

  const endedAt = Date.now();
  const again = viewer.reports.length;
  if (end === "wake") await owner.tab.wake();
  else await owner.tab.close();
  if (view.role.kind === "stuck") {
    // A woken owner may go on itself; either way somebody writes again.
    const { at } = await viewer.until("somebody who writes", () => {
      return viewer.views(id, again).find(({ view }) => view.role.kind === "viewer" || view.role.kind === "owner") ??
        null;
    });
    assertLess(at - endedAt, TAKEOVER_MS_MAX);
  }
  for (const input of ["early", "late"]) await viewer.converse(id, input, input);
  await lab.remote.whenQuiet();
  const told = [owner, viewer].flatMap((tab) => tab.toldByEachWorker(id));
  const log = await viewer.export(id);
  const inputs = ["pay 1 to slow", "early", "late"];
  judgeLog({ rows: wholeLog(log), told, arrivals: lab.remote.arrivals, inputs });
  await verifyLogs(new Map([["the log", log]]));
  return view.role.kind as "stuck" | "owner";
}

Deno.test("field/E06: a full disk is STORAGE_FULL with what is used, and the session goes on when there is room again", async () => {
  await using lab = await Lab.open();
  const tab = await lab.openTab("full");
  const { id } = await tab.call("create", {});
  await tab.converse(id, "fits", "fits");
  // Chromium reserves room in steps of a megabyte: the first is there already, the second is not granted.
  await tab.tab.send("Storage.overrideQuotaForOrigin", { origin: lab.origin, quotaSize: 1_500_000 });

  let refused: Refused | null = null;
  const sent = ["fits"];
  for (let index = 0; refused === null; index++) {
    assert(index < 40, "the disk never filled up");
    const text = `number ${index} ${noise(600_000, index)}`;
    sent.push(text);
    await tab.call("send", { id, inputId: `large-${index}`, text }).catch((error) => refused = error);
  }
  assertMatch(`${(refused as Refused).code}: ${(refused as Refused).message}`, /STORAGE_FULL|CHECKPOINT_FAILED.*full/i);
  assertMatch((refused as Refused).message, /\d+ (?:of|bytes)/);
  const told = tab.told(id);

  await tab.tab.send("Storage.overrideQuotaForOrigin", { origin: lab.origin });
  const beganMs = Date.now();
  const again = { id, inputId: `large-${sent.length - 2}`, text: sent.at(-1)! };
  for (;;) {
    try {
      const { seq } = await tab.call("send", again);
      await tab.untilEnd(id, seq);
      break;
    } catch (error) {
      assert(error instanceof Refused && Date.now() - beganMs < 10_000, String(error));
      await new Promise((over) => setTimeout(over, 200));
    }
  }
  const toldLater = tab.told(id);
  const log = await tab.export(id);
  judgeLog({ rows: wholeLog(log), told: [told, toldLater], arrivals: [], inputs: sent });
  await verifyLogs(new Map([["the log", log]]));
});

Deno.test("field/E09: sessions whose files somebody cleared are STORAGE_LOST with their ids, once, and a new session can be made", async () => {
  await using lab = await Lab.open();
  const tab = await lab.openTab("cleared");
  const { id } = await tab.call("create", {});
  await tab.converse(id, "kept", "kept");
  const other = await lab.openTab("clears");
  await other.tab.send("Storage.clearDataForOrigin", { origin: lab.origin, storageTypes: "file_systems" });

  await tab.tab.reload();
  const refused = await firstRefusal(() => tab.start(), () => tab.call("list", {}));
  assertEquals(refused.code, "STORAGE_LOST");
  assertEquals(refused.sessionIds, [id]);

  await tab.call("forgetLost", {});
  assertEquals(await tab.call("list", {}), []);
  const next = await tab.call("create", {});
  await tab.call("send", { id: next.id, inputId: "again", text: "again" });
  assertEquals((await tab.call("list", {})).map((row) => row.id), [next.id]);
});

Deno.test("field/E09: a session that is cleared while it is open is STORAGE_LOST at its next input, at once, and nothing runs", async () => {
  await using lab = await Lab.open();
  const tab = await lab.openTab("open");
  const { id } = await tab.call("create", {});
  await tab.converse(id, "kept", "kept");
  await tab.tab.evaluate(`lab.allow({ nobody: 0 })`);
  await tab.tab.send("Storage.clearDataForOrigin", { origin: lab.origin, storageTypes: "file_systems" });
  for (const inputId of ["first", "second"]) {
    const refused = await firstRefusal(() => tab.call("send", { id, inputId, text: "pay 1 to nobody" }));
    assertMatch(`${refused.code} ${refused.message}`, /STORAGE_LOST/);
  }
  await lab.remote.whenQuiet();
  assertEquals(lab.remote.arrivals, []);
  assertEquals((await firstRefusal(() => tab.call("list", {}))).sessionIds, [id]);
});

/** The refusal of the first thing that is refused. */
async function firstRefusal(...steps: readonly (() => Promise<unknown>)[]): Promise<Refused> {
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      if (error instanceof Refused) return error;
      throw error;
    }
  }
  throw new Error("nothing was refused");
}

Deno.test("field/E10, field/E11: a browser that refuses its private file system is named in the page within 2 s, and nothing falls back unasked", async () => {
  const workerPrefix = `navigator.storage.getDirectory = () =>
    Promise.reject(new DOMException("It was determined that certain files are unsafe", "SecurityError"));\n`;
  await using story = await Story.open({ workerPrefix });
  const page = await story.newPage();
  const alert = page.getByRole("alert");
  await alert.waitFor({ timeout: SAID_MS_MAX });
  assertMatch(await alert.innerText(), /private file system.*SecurityError/s);
  assertEquals(await page.getByLabel("Message", { exact: true }).count(), 0);

  await page.getByRole("button", { name: /volatile/ }).click();
  await page.getByText("nothing here survives").waitFor();
  assertMatch(await page.locator("body").innerText(), /volatile/);
});

Deno.test("field/E17: the second tab is a live viewer; what is typed and answered there is forwarded and done once", async () => {
  await using lab = await Lab.open();
  const owner = await lab.openTab("first", { isWindow: true });
  const { id } = await owner.call("create", {});
  await owner.call("send", { id, inputId: "hello", text: "hello" });
  const viewer = await lab.openTab("second", { isWindow: true });
  await viewer.call("attach", { id });
  const { role } = await viewer.untilRole(id, "viewer");
  assertEquals(role, { kind: "viewer", ownerLabel: "first" });

  const [first, second] = await Promise.all([1, 2].map(() => {
    return viewer.call("send", { id, inputId: "from the viewer", text: "pay 1 to zoe" });
  }));
  assertEquals(first, second);
  const { questions } = await viewer.untilView(id, "a question", ({ questions }) => questions.length === 1);
  const { question } = questions[0]!;
  const answer = { id, question, decision: "allowed-once" } as const;
  const firsts = await Promise.all([viewer, viewer, owner].map((tab) => tab.call("answer", answer)));
  assertEquals(firsts.filter(({ isFirst }) => isFirst).length, 1);
  const late = await viewer.call("answer", { ...answer, decision: "rejected" }).catch((error) => error);
  assert(late instanceof Refused, "another answer to the same question was taken");
  await viewer.untilEnd(id, first!.seq);
  const told = [owner, viewer].flatMap((tab) => tab.toldByEachWorker(id));

  const log = await viewer.export(id);
  const calls = judgeLog({
    rows: wholeLog(log),
    told,
    arrivals: lab.remote.arrivals,
    inputs: ["hello", "pay 1 to zoe"],
  });
  assertEquals(calls.done, 1);
  const last = wholeLog(log).at(-1)!;
  await viewer.until("every event, live", () => viewer.told(id).events.some(({ seq }) => seq === last.seq) || null);
});

/** Web Locks that anybody holds, apart from those that a page without a session needs. */
async function heldLocks(tab: { evaluate<Value>(expression: string): Promise<Value> }): Promise<string[]> {
  return await tab.evaluate(`navigator.locks.query().then(({ held }) => held.map(({ name }) => name))`);
}

/** Letters that do not compress. */
function noise(length: number, seed: number): string {
  let state = seed + 1;
  return Array.from({ length }, () => {
    state = Math.imul(state, 1_664_525) + 1_013_904_223 >>> 0;
    return String.fromCharCode(97 + (state >>> 16) % 26);
  }).join("");
}
