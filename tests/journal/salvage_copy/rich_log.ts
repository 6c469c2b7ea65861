/**
 * Logs for salvage: everything of ours that refers to other events by seq, turn after turn.
 *
 * @module
 */
import { encodeHeader, encodeRow, type SessionEvent, type SessionHeader } from "../../../src/event/mod.ts";
import { encodeLines } from "../../../src/frame/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { LogBuilder } from "../../fold/log_builder.ts";

export const CODEC = nodeZstd();

export const HEADER: SessionHeader = {
  ...{ type: "session", version: 3, id: "source", createdAt: 1000, cwd: "/w" },
  ...{ isSeeded: false, delegationDepth: 0 },
};

/** Turns with calls, markers, questions, spilled results, a replaced head, a compaction and a second lifecycle. */
export function richLog(turns: number): SessionEvent[] {
  const log = new LogBuilder();
  let head = 0;
  log.policy();
  for (let turn = 1; turn <= turns; turn++) {
    if (turn % 5 === 0) {
      log.endSeed();
      log.policy();
    }
    log.startTurn();
    log.startStep();
    if (turn === 1) head = log.system("be good");
    else if (turn % 4 === 0) {
      head = log.system(`be good ${turn}`, { op: "replace", startSeq: head, endSeq: head }, [head]);
    }
    const asked = log.user(`pay number ${turn}, ünï 🐳 ${"and so on ".repeat(turn % 7)}`);
    const [one, two] = [`a${turn}`, `b${turn}`];
    log.assistant([one, two], "I pay");
    const callSeq = log.call(one);
    log.asked(`q${turn}`, one);
    log.add("approval/bound", { id: `q${turn}`, callSeq, argumentsDigest: "0".repeat(64) }, { ignorable: true });
    log.decided(`q${turn}`);
    log.marker(one);
    log.add("result/spilled", { callId: one, callSeq, digest: digestOf(turn), sizeBytes: 9 }, { ignorable: true });
    log.result(one);
    log.call(two);
    log.marker(two);
    log.result(two);
    log.endStep();
    log.startStep();
    const answer = log.assistant([], `done ${turn}`);
    log.endStep();
    log.endTurn();
    log.add("session/title" as never, titleOf(asked) as never);
    if (turn % 6 === 0) {
      log.compaction(null, `k${turn}`);
      log.summary(answer, answer, [answer], `k${turn}`);
      log.checkpoint(answer, answer, [answer], `k${turn}`);
      log.compactionEnd(null, undefined, `k${turn}`);
    }
  }
  return log.events;
}

function titleOf(seq: number): unknown {
  return { title: "paying", messageSeqs: [seq], source: { kind: "provider", provider: "p" } };
}

/** The digest that the spilled result of a turn names. */
export function digestOf(turn: number): string {
  return turn.toString(16).padStart(64, "0");
}

/** A log as pieces: the header and then frames, or lines. */
export interface Pieces {
  readonly encoding: "zstd" | "none";
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  /** Which events stand in each part. */
  readonly events: readonly (readonly SessionEvent[])[];
}

/** Cuts a log into frames of so many events, or into lines. */
export function piecesOf(events: readonly SessionEvent[], encoding: "zstd" | "none", eventsPerFrame = 5): Pieces {
  const size = encoding === "zstd" ? eventsPerFrame : 1;
  const groups: SessionEvent[][] = [[]];
  for (let at = 0; at < events.length; at += size) groups.push(events.slice(at, at + size));
  const parts = groups.map((group, index) => {
    const lines = encodeLines(index === 0 ? [encodeHeader(HEADER)] : group.map(encodeRow));
    return encoding === "zstd" ? CODEC.compress(lines) : lines as Uint8Array<ArrayBuffer>;
  });
  return { encoding, parts, events: groups };
}

/** Byte arrays one behind the other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
