/**
 * A disk that gets full in the middle of a turn, whatever the disk is: the same script on a small tmpfs, below a limit for the
 * size of files, and with injected errors.
 *
 * @module
 */
import { appendFileSync, copyFileSync, readFileSync } from "node:fs";
import { type Agent, createAgent, defineTool, scripted, type ScriptStep } from "../../mod.ts";
import type { ModelRequest, Session, SessionStore, TurnOutcome } from "../../mod.ts";

/** Where in the turn it gets full: while a person answers, just before the marker, or after the effect. */
export const POINTS = ["question", "marker", "result"] as const;
export type Point = typeof POINTS[number];

/** The disk as the script sees it. */
export interface Disk {
  readonly store: SessionStore;
  /** No room any more, not even for `ballast` of what the log holds back. */
  fill(): void;
  /** Room again. @returns `false` when that is not possible here */
  free(): boolean;
  /** How much incompressible text, in characters, does not fit when it is full, whatever slack the last block of the log has. */
  readonly ballast: number;
}

/** Files of the script. Those outside of the disk are never in the way. */
export interface FullDiskFiles {
  readonly log: string;
  /** Outside: one line per effect. */
  readonly effects: string;
  /** Outside: copies of the log, while the disk was full and at the end. */
  readonly logWhenFull: string;
  readonly logAtEnd: string;
}

/** How one turn went. */
export interface TurnFacts {
  readonly reason: string;
  readonly code: string | null;
  /** The codes of the error and its causes. */
  readonly codes: readonly string[];
  /** Effects so far. */
  readonly effects: number;
}

/** What the script found. */
export interface FullDiskReport {
  readonly before: TurnFacts;
  /** The turn in which it got full, and the next one, while it is full. */
  readonly full: TurnFacts;
  readonly stillFull: TurnFacts;
  readonly durableSeqWhenFull: number;
  readonly isReadOnlyWhenFull: boolean;
  /** After there was room: in the same session, and in one opened anew. `null` when no room could be made. */
  readonly freed: TurnFacts | null;
  readonly reopened: TurnFacts | null;
}

/** Runs the script. */
export async function fillInTheMiddle(disk: Disk, point: Point, files: FullDiskFiles): Promise<FullDiskReport> {
  const script = new Script(disk, files);
  const session = await script.agent.create({ id: "s" });
  const before = script.facts(await session.send("one"));
  await session.session.flush();

  script.arm(point, session.session);
  const full = script.facts(await session.send("two"));
  const stillFull = script.facts(await session.send("three"));
  const durableSeqWhenFull = session.session.durableSeq;
  const isReadOnlyWhenFull = session.session.failure !== null;
  copyFileSync(files.log, files.logWhenFull);

  const isFreed = disk.free();
  const freed = isFreed ? script.facts(await session.send("four")) : null;
  await session.close().catch((error) => {
    if (isFreed) throw error;
  });
  let reopened: TurnFacts | null = null;
  if (isFreed) {
    const again = await script.agent.resume("s");
    reopened = script.facts(await again.send("five"));
    await again.close();
  }
  await disk.store.close();
  copyFileSync(files.log, files.logAtEnd);
  return { before, full, stillFull, durableSeqWhenFull, isReadOnlyWhenFull, freed, reopened };
}

/** An agent with a model that pays once per turn, and a disk that can be filled at a point of it. */
class Script {
  readonly agent: Agent;
  readonly #disk: Disk;
  readonly #files: FullDiskFiles;
  #armed: { readonly point: Point; readonly session: Session } | null = null;

  constructor(disk: Disk, files: FullDiskFiles) {
    this.#disk = disk;
    this.#files = files;
    const turn: ScriptStep[] = [[{ call: { name: "pay" } }], [{ text: "Done." }]];
    const pay = defineTool({
      name: "pay",
      description: "Pays somebody.",
      parameters: { type: "object" },
      execute: () => {
        appendFileSync(files.effects, "paid\n");
        this.#reach("result");
        return "paid";
      },
    });
    this.agent = createAgent({
      store: disk.store,
      model: { ...scripted([]), stream: (request, signal) => modelFor(request, turn).stream(request, signal) },
      tools: [pay],
      approvers: [() => {
        this.#reach("question");
        return "allowed-once";
      }],
      guards: [() => {
        this.#reach("marker");
        return undefined;
      }],
    });
  }

  arm(point: Point, session: Session): void {
    this.#armed = { point, session };
  }

  facts(outcome: TurnOutcome): TurnFacts {
    const { reason } = outcome;
    const codes: string[] = [];
    let error = outcome.turn === null ? null : outcome.error;
    for (; error instanceof Error; error = error.cause) if ("code" in error) codes.push(String(error.code));
    const effects = readFileSync(this.#files.effects, "utf8").split("\n").length - 1;
    return { reason: reason.kind, code: reason.kind === "error" ? reason.error.code : null, codes, effects };
  }

  #reach(point: Point): void {
    if (this.#armed?.point !== point) return;
    const { session } = this.#armed;
    this.#armed = null;
    this.#disk.fill();
    // Whatever is written next brings this along, and it does not fit into the slack of the log's last block.
    session.append({ type: "test/ballast", data: { text: noise(this.#disk.ballast) }, ignorable: true });
  }
}

/** The first step when the last message is the user's, else the second: the script begins anew with every turn. */
function modelFor({ messages }: ModelRequest, [first, second]: readonly ScriptStep[]) {
  const isAnswered = messages.at(-1)?.source.kind === "tool";
  return scripted([(isAnswered ? second : first) ?? []]);
}

/** Text that does not compress to less than half of its length. */
function noise(length: number): string {
  const bytes = new Uint8Array(length / 2);
  for (let start = 0; start < bytes.length; start += 65_536) {
    crypto.getRandomValues(bytes.subarray(start, start + 65_536));
  }
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
