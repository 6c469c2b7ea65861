/**
 * Reloads a page again and again at random instants after its session was asked for, each time in the middle of something.
 *
 * @module
 */
import { check } from "../../kill/judge.ts";
import type { RawRow } from "../../kill/raw_log.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { judgeLog } from "./judge_log.ts";
import { type Told, wholeLog } from "./judge.ts";
import { Lab, type LabTab } from "./lab.ts";
import { verifyLogs } from "./verify.ts";

/** From the beginning of a load until the session is open for writing. */
const OPEN_MS_MAX = 3_000;

/** The latest a reload comes after the session was opened. */
const RELOAD_AFTER_MS_MAX = 300;

/** What the reloads came to. */
export interface ReloadReport {
  readonly reloads: number;
  /** From the beginning of each load until the session was open, sorted. */
  readonly openMs: readonly number[];
  readonly events: number;
}

/** Opens a session, and reloads its page `count` times. @throws {Error} at the first load that is not as promised */
export async function reloadAtRandom(seed: number, count: number): Promise<ReloadReport> {
  const random = seededRandom(seed);
  await using lab = await Lab.open();
  const tab = await lab.openTab("reloaded");
  const { id } = await tab.call("create", {});
  const inputs = ["first"];
  await tab.untilEnd(id, await send(tab, id, "first"));
  const openMs: number[] = [];
  let from = 0;
  for (let index = 0; index < count; index++) {
    // Half of them come while the session is being opened, the others when it is open and has just been written to.
    const isEarly = index % 2 === 0;
    const delayMs = random.below(RELOAD_AFTER_MS_MAX + 1);
    from = tab.reports.length;
    const beganMs = Date.now();
    await tab.tab.reload();
    await tab.start();
    const attached = tab.call("attach", { id });
    if (isEarly) {
      attached.catch(() => {}); // The reload may end it.
      await new Promise((over) => setTimeout(over, delayMs));
      continue;
    }
    await attached;
    await tab.untilRole(id, "owner", from);
    openMs.push(Date.now() - beganMs);
    check(openMs.at(-1)! <= OPEN_MS_MAX, `reload ${index} opened only after ${openMs.at(-1)} ms`);
    const text = `input ${index}`;
    inputs.push(text);
    send(tab, id, text).catch(() => {}); // The reload may come before the answer.
    await new Promise((over) => setTimeout(over, delayMs));
  }
  from = tab.reports.length;
  await tab.tab.reload();
  await tab.start();
  await tab.call("attach", { id });
  await tab.untilRole(id, "owner", from);
  // A person whose message was not confirmed sends it again; the same input is the same input.
  for (const text of inputs) await send(tab, id, text);
  let told: Told[] = [];
  const log = await tab.untilRest(id, inputs, () => void (told = tab.toldByEachWorker(id)));
  const rows = wholeLog(log);
  judgeLog({ rows, told, arrivals: [], inputs });
  await verifyLogs(new Map([["the reloaded log", log]]));
  checkLifecycles(rows);
  return { reloads: count, openMs: openMs.sort((left, right) => left - right), events: rows.length };
}

async function send(tab: LabTab, id: string, text: string): Promise<number> {
  const { seq } = await tab.call("send", { id, inputId: `input-of-${text}`, text });
  return seq;
}

/** Between two lifecycles a turn that was open has been closed. */
function checkLifecycles(rows: readonly RawRow[]): void {
  let isOpen = false;
  for (const { type, text } of rows) {
    if (type === "session/end-seed") check(!isOpen, `a lifecycle begins inside a turn: ${text}`);
    if (type === "turn/start") check(!isOpen, `a turn begins inside a turn: ${text}`);
    if (type === "turn/start") isOpen = true;
    if (type === "turn/end") isOpen = false;
  }
}
