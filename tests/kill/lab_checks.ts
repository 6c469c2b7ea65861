/**
 * What must hold in a run of the lab whatever the classes of its calls are: nothing lost, nothing invented, true reports, intent before
 * effect, barriers before bodies, turns that end.
 *
 * @module
 */
import { check } from "./check.ts";
import { timeOf, type TrueClass } from "./judge.ts";
import type { OpenedReport } from "./lab_agent.ts";
import type { JudgedEffect, LabCase } from "./lab_case.ts";
import type { Found } from "./lab_plan.ts";
import type { Snapshot } from "./lab_snapshot.ts";
import type { RawRow } from "./raw_log.ts";
import type { TraceLine } from "./stretched_disk.ts";

/** What could be read after a kill is there after every later one, and at the end; what was acknowledged could be read. */
export function checkNothingLost({ processes, final }: LabCase): void {
  const lefts = [...processes.map(({ left }) => left), final];
  lefts.forEach((left, index) => {
    const next = lefts[index + 1];
    if (left === null || left === undefined || next === undefined) return;
    check(next !== null, `the log that process ${index} left is gone after the next`);
    left.forEach(({ text }, seq) => {
      check(
        next![seq]?.text === text,
        `after process ${index} seq ${seq} was ${text}, later it was ${next![seq]?.text}`,
      );
    });
  });
  processes.forEach(({ trace, left }, index) => {
    const acknowledged = Math.max(-1, ...trace.map((line) => line[0] === "synced" ? line[3] : -1));
    const count = left?.length ?? 0;
    check(
      acknowledged < count,
      `process ${index} was told that seq ${acknowledged} is durable, and left ${count} events`,
    );
  });
}

/** No event that nobody wrote. */
export function checkInvented(trace: readonly TraceLine[], left: readonly RawRow[], before: readonly RawRow[]): void {
  for (const { seq, text } of left.slice(before.length)) {
    check(timeOf("write", seq!, trace) !== null, `nobody wrote seq ${seq}: ${text}`);
  }
}

/** The calls that a log proposes and does not answer, with their classes by that log alone. */
export function pendingIn(rows: readonly RawRow[]): Map<string, TrueClass> {
  const pending = new Map<string, TrueClass>();
  for (const { type, data } of rows) {
    const callId = data.callId ?? data.message?.source?.callId ?? "";
    if (type === "assistant/message") { for (const id of proposedIn(data)) pending.set(id, "not_started"); }
    else if (type === "tool/call") pending.set(callId, "not_dispatched");
    else if (type === "effect/dispatched") pending.set(callId, "outcome_unknown");
    else if (type === "tool/result") pending.delete(callId);
  }
  return pending;
}

/** The ids of the calls that a message proposes. */
export function proposedIn({ message }: RawRow["data"]): string[] {
  return (message?.content ?? []).flatMap(({ type, id }) => type === "tool-call" ? [id!] : []);
}

/** Whoever took the session up reported the true classes of what was open, and nothing else. */
export function checkReports({ processes, read, opened }: LabCase): void {
  const compare = (who: string, found: OpenedReport["calls"], left: readonly RawRow[] | null) => {
    const inWords = (calls: Iterable<readonly [string, string]>) =>
      [...calls].map((call) => call.join(" ")).sort().join();
    const wanted = inWords(pendingIn(left ?? []));
    const said = inWords(found.map(({ callId, class: given }) => [callId, given]));
    check(said === wanted, `${who} reported "${said}", true is "${wanted}"`);
  };
  processes.forEach(({ trace }, index) => {
    const line = trace.find(([what]) => what === "opened");
    if (line !== undefined) {
      compare(`process ${index}`, JSON.parse(String(line[3])).calls, processes[index - 1]!.left);
    }
  });
  const last = processes.at(-1)!.left;
  compare("a reader", read, last);
  if (opened !== null) compare("the undisturbed resume", opened.calls, last);
}

/** No effect without durable intent: its key is in the marker of its call, and that was durable before it happened. */
export function checkEffect(effect: JudgedEffect, { processes, final }: LabCase): void {
  const { key, callId, at, tool } = effect;
  if (key === null) return; // Found by its content; the class of its call says whether it may be there.
  const marker = final.find(({ type, data }) => type === "effect/dispatched" && data.effectKey === key);
  check(
    marker !== undefined,
    `${tool} happened for ${callId} with key ${key}, which no durable effect/dispatched holds`,
  );
  const call = final[marker!.data.callSeq!];
  check(call?.type === "tool/call" && call.data.callId === marker!.data.callId, `key ${key} belongs to no tool/call`);
  check(call!.data.arguments!.includes(callId), `key ${key} did ${callId}, and its call is ${call!.text}`);
  const index = processes.findIndex(({ left }) => (left?.length ?? 0) > marker!.seq!);
  if (index === -1 || at === null) return; // Of the turn that nobody killed; or nobody saw when.
  const durableAt = timeOf("synced", marker!.seq!, processes[index]!.trace);
  check(durableAt !== null, `key ${key} had an effect, and its marker was never durable while its process lived`);
  check(at >= durableAt!, `key ${key} had its effect at ${at}, its marker was durable at ${durableAt}`);
}

/** No body before its marker is durable. */
export function checkBodies(trace: readonly TraceLine[], left: readonly RawRow[]): void {
  for (const [what, at, callSeq, key] of trace) {
    if (what !== "body") continue;
    const marker = left.find(({ type, data }) => type === "effect/dispatched" && data.callSeq === callSeq);
    check(marker?.data.effectKey === key, `the body of the call at seq ${callSeq} ran without its marker`);
    const durableAt = timeOf("synced", marker!.seq!, trace);
    check(durableAt !== null && durableAt <= at, `the body of the call at seq ${callSeq} did not wait for its marker`);
  }
}

/** Every turn has one end, before the next begins; every proposed call has one result, behind its proposal. */
export function checkTurns(final: readonly RawRow[]): void {
  let open: number | undefined;
  const owed = new Set<string>();
  for (const { type, data, text } of final) {
    if (type === "turn/start") {
      check(open === undefined, `turn ${data.turn} began in turn ${open}`);
      open = data.turn;
    }
    if (type === "assistant/message") { for (const id of proposedIn(data)) owed.add(id); }
    if (type === "tool/result") check(owed.delete(data.message!.source.callId!), `nobody waited for ${text}`);
    if (type === "step/end") check(owed.size === 0, `a step ended without the results of ${[...owed].join()}`);
    if (type === "turn/end") {
      check(data.turn === open, `turn ${data.turn} ended in turn ${open}`);
      open = undefined;
    }
  }
  check(open === undefined && owed.size === 0, `turn ${open} is open at the end, and ${[...owed].join()}`);
}

/** What the next process will find. */
export function foundIn(snapshot: Snapshot | null): Found {
  const { events = [], tornBytes = 0, salvaged = 0 } = snapshot ?? {};
  const begun = events.filter(({ type }) => type === "turn/start").length;
  return {
    hasUnknown: [...pendingIn(events).values()].includes("outcome_unknown"),
    isOpen: begun > events.filter(({ type }) => type === "turn/end").length,
    isTorn: tornBytes > 0,
    isSalvaged: salvaged > 0,
  };
}
