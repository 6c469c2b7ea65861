/**
 * What a migrated log must be, beyond what is asked of a log of version 3 that nobody migrated.
 *
 * A log with broken nesting loads. One that a migration made must not have any: what its reader will make of a call, a compaction
 * or a title depends on it.
 *
 * @see session-format §4.3, §10.5
 * @module
 */
import {
  type Block,
  type EventData,
  isEvent,
  NOT_STARTED_ERROR,
  NOT_STARTED_TEXT,
  type SessionEvent,
  type SessionHeader,
  shapeProblem,
} from "../../event/mod.ts";
import { isRecord, show } from "../../event/checks.ts";
import { type Surface, surfaceFold } from "../../fold/mod.ts";
import { withSlim } from "./slim_surface.ts";

/** Why an event must not come next: damage that the source had, or something that no migrated log may hold. */
export interface TargetProblem {
  readonly isDamage: boolean;
  readonly found: string;
}

/** A call that the open step's messages proposed and that has no result yet. */
interface Call {
  readonly name: string;
  readonly arguments: string;
  isStarted: boolean;
}

interface Compaction {
  readonly id: string;
  readonly commandId: string | undefined;
  readonly turn: number | null;
  hasSummary: boolean;
}

/** Follows a migrated log and says what must not come next. Holds the surface without its texts and what is open. */
export class TargetCheck {
  readonly #header: SessionHeader;
  #surface: Surface = surfaceFold.initial();
  #nextSeq = 0;
  #inheritedEventCount = 0;
  #hasInheritedSeed = false;
  #turn: number | null = null;
  #lastTurn = 0;
  #step: number | null = null;
  #lastStep = 0;
  /** By id, in the order of the messages. No list is empty. */
  #calls = new Map<string, Call[]>();
  #compaction: Compaction | null = null;
  /** The number of the last retry of each chain of the open turn. */
  readonly #retries = new Map<string, number>();
  /** Commands that are not done. */
  readonly #commands = new Set<string>();
  /** The seqs of what people wrote, rising: a title names them. */
  readonly #humanSeqs: number[] = [];

  constructor(header: SessionHeader) {
    this.#header = header;
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  get inheritedEventCount(): number {
    return this.#inheritedEventCount;
  }

  /** Takes the next event, or says why it must not come. */
  add(event: SessionEvent): TargetProblem | null {
    const shape = shapeProblem(event);
    if (shape !== null) return { isDamage: false, found: shape };
    const relation = this.#relationProblem(event);
    if (relation !== null) return { isDamage: false, found: relation };
    const surface = withSlim(this.#surface, event);
    if (surface.fault !== null) return { isDamage: true, found: surface.fault.message };
    this.#surface = surface;
    this.#nextSeq += 1;
    return this.#seedProblem(event);
  }

  /** Says what the whole log lacks. */
  end(): TargetProblem | null {
    if (!this.#header.isSeeded || this.#hasInheritedSeed) return null;
    return { isDamage: true, found: "the header says that events were inherited, and no session/end-seed says which" };
  }

  #seedProblem(event: SessionEvent): TargetProblem | null {
    if (!isEvent(event, "session/end-seed") || event.data.inherited !== true) return null;
    if (!this.#header.isSeeded) {
      return { isDamage: true, found: "it ends an inherited seed, and the header names none" };
    }
    this.#hasInheritedSeed = true;
    this.#inheritedEventCount = event.seq;
    return null;
  }

  /** Follows what the event opens and closes. Called once per event. */
  #relationProblem(event: SessionEvent): string | null {
    if (isEvent(event, "turn/start")) return this.#startTurn(event.data.turn);
    if (isEvent(event, "turn/end")) return this.#endTurn(event.data);
    if (isEvent(event, "step/start")) return this.#startStep(event.data);
    if (isEvent(event, "step/end")) return this.#endStep(event.data);
    if (isEvent(event, "user/message")) return this.#userMessage(event.data, event.seq, event.surfaceOp === "append");
    if (isEvent(event, "assistant/message")) return this.#assistantMessage(event.data);
    if (isEvent(event, "assistant/attempt") || isEvent(event, "system/message")) return this.#outsideStep(event.data);
    if (isEvent(event, "tool/call")) return this.#startCall(event.data);
    if (isEvent(event, "tool/result")) {
      return event.surfaceOp === "append" ? this.#answer(event.data, event.sourceEventSeqs) : this.#outsideTurn();
    }
    if (isEvent(event, "request/header") || isEvent(event, "request/context")) return this.#outsideTurn();
    if (isEvent(event, "session/end-seed")) this.#compaction = null;
    return this.#compactionProblem(event) ?? this.#otherProblem(event);
  }

  #startTurn(turn: number): string | null {
    if (this.#turn !== null) return `turn ${this.#turn} is open`;
    if (this.#compaction !== null) return "a compaction between turns is open";
    if (turn !== this.#lastTurn + 1) return `turn ${turn}, where turn ${this.#lastTurn + 1} is the next`;
    this.#turn = this.#lastTurn = turn;
    this.#step = null;
    this.#lastStep = 0;
    this.#retries.clear();
    return null;
  }

  #endTurn({ turn, reason }: EventData["turn/end"]): string | null {
    if (this.#turn !== turn) return `the end of turn ${turn}, which is not open`;
    if (this.#step !== null) return `step ${this.#step} is open`;
    // A crash leaves a compaction open; the session/end-seed that follows makes it stale.
    if (this.#compaction !== null && reason.kind !== "interrupted") return "a compaction of this turn is open";
    this.#turn = null;
    return null;
  }

  #startStep({ turn, step }: EventData["step/start"]): string | null {
    if (this.#turn !== turn) return `a step of turn ${turn}, which is not open`;
    if (this.#step !== null) return `step ${this.#step} is open`;
    if (step !== this.#lastStep + 1) return `step ${step}, where step ${this.#lastStep + 1} is the next`;
    this.#step = this.#lastStep = step;
    this.#calls = new Map();
    return null;
  }

  #endStep(data: EventData["step/end"]): string | null {
    const problem = this.#outsideStep(data);
    if (problem !== null) return problem;
    for (const id of this.#calls.keys()) return `call ${show(id)} has no result`;
    this.#step = null;
    return null;
  }

  #userMessage({ source }: EventData["user/message"], seq: number, isAppended: boolean): string | null {
    if (source.kind === "user" && isAppended) this.#humanSeqs.push(seq);
    if (isAppended || source.kind !== "plugin" || source.plugin !== "compact") return null;
    return this.#outsideCompaction(source.compactionId, source.sourceCommandId);
  }

  #assistantMessage(data: EventData["assistant/message"]): string | null {
    const problem = this.#outsideStep(data);
    if (problem !== null) return problem;
    for (const block of data.message.content) {
      if (block.type !== "tool-call") continue;
      const { id, name } = block;
      const call = { name, arguments: block.arguments, isStarted: false };
      const same = this.#calls.get(id);
      if (same === undefined) this.#calls.set(id, [call]);
      else same.push(call);
    }
    return null;
  }

  #startCall(data: EventData["tool/call"]): string | null {
    const problem = this.#outsideStep(data);
    if (problem !== null) return problem;
    const call = this.#calls.get(data.callId)?.find((call) =>
      !call.isStarted && call.name === data.name && call.arguments === data.arguments
    );
    if (call === undefined) return `call ${show(data.callId)}, which no message of this step proposes`;
    call.isStarted = true;
    return null;
  }

  #answer(data: EventData["tool/result"], sources: readonly number[] | undefined): string | null {
    const problem = this.#outsideStep(data);
    if (problem !== null) return problem;
    const callId = data.message.source.callId as string;
    const open = this.#calls.get(callId);
    if (open === undefined) return `a result of call ${show(callId)}, which does not wait for one`;
    const started = open.findIndex(({ isStarted }) => isStarted);
    if (started === -1 && !isNotStartedCloser(data, sources)) {
      return `a result of call ${show(callId)}, which was never started`;
    }
    open.splice(Math.max(started, 0), 1);
    if (open.length === 0) this.#calls.delete(callId);
    return null;
  }

  #compactionProblem(event: SessionEvent): string | null {
    if (isEvent(event, "compaction/start")) {
      const { compactionId: id, sourceCommandId: commandId, turn } = event.data;
      if (this.#compaction !== null) return `compaction ${show(this.#compaction.id)} is open`;
      if (turn !== this.#turn) return "a compaction of a turn that is not open";
      this.#compaction = { id, commandId, turn, hasSummary: false };
    } else if (isEvent(event, "compaction/summary")) {
      const { compactionId, sourceCommandId, shadowedSeqs } = event.data;
      const problem = this.#outsideCompaction(compactionId, sourceCommandId);
      if (problem !== null) return problem;
      if (this.#compaction!.hasSummary) return "a second summary of one compaction";
      this.#compaction!.hasSummary = true;
      return this.#spanProblem(shadowedSeqs);
    } else if (isEvent(event, "compaction/end")) {
      const { compactionId, sourceCommandId, turn, error } = event.data;
      const problem = this.#outsideCompaction(compactionId, sourceCommandId);
      if (problem !== null) return problem;
      const { turn: owner, hasSummary } = this.#compaction!;
      if (owner !== turn) return "the end of a compaction of another turn";
      if (!hasSummary && error === undefined) return "a compaction that ends without a summary and without an error";
      this.#compaction = null;
    } else if (isEvent(event, "compaction/prune")) {
      return this.#spanProblem(event.data.shadowedSeqs);
    }
    return null;
  }

  /** The list must be exactly what stands on the surface from its first to its last member. */
  #spanProblem(seqs: readonly number[]): string | null {
    const { nodes } = this.#surface;
    const first = nodes.findIndex(seqs[0]);
    const last = nodes.findIndex(seqs.at(-1));
    if (first === -1 || last < first) return "data.shadowedSeqs that are no span of the surface";
    let at = 0;
    for (const { seq } of nodes.between(first, last)) {
      if (seqs[at++] !== seq) return `data.shadowedSeqs without seq ${seq}, which stands among them`;
    }
    return at === seqs.length ? null : "data.shadowedSeqs of more than the span";
  }

  #otherProblem(event: SessionEvent): string | null {
    const { type, data } = event;
    if (!isRecord(data)) return null;
    switch (type) {
      case "llm/retry": {
        if (typeof data.retryId !== "string" || typeof data.retry !== "number") return "a retry without id or number";
        this.#retries.set(data.retryId, data.retry);
        return this.#outsideStep(data);
      }
      case "llm/retry-started": {
        if (this.#retries.get(data.retryId as string) !== data.retry) {
          return "the start of a retry that nothing announces";
        }
        return this.#outsideStep(data);
      }
      case "command/run":
        if (typeof data.commandId !== "string") return "a command without an id";
        this.#commands.add(data.commandId);
        return null;
      case "command/done":
        return this.#commands.delete(data.commandId as string) ? null : "the end of a command that does not run";
      case "session/title":
        return this.#titleProblem(data.messageSeqs, isRecord(data.source) && data.source.kind === "user");
      case "session/title-llm-request":
        return this.#titleProblem(data.messageSeqs, false);
      default:
        return null;
    }
  }

  #titleProblem(seqs: unknown, isByUser: boolean): string | null {
    if (!Array.isArray(seqs)) return "no data.messageSeqs";
    if (isByUser !== (seqs.length === 0)) return "a title whose source and messages do not fit";
    const stranger = seqs.find((seq) => !holds(this.#humanSeqs, seq));
    return stranger === undefined ? null : `data.messageSeqs names seq ${stranger}, which nobody wrote`;
  }

  #outsideTurn(): string | null {
    return this.#turn === null ? "no turn is open" : null;
  }

  #outsideStep({ turn, step }: { readonly turn?: unknown; readonly step?: unknown }): string | null {
    return this.#turn === turn && this.#step === step ? null : `turn ${show(turn)}, step ${show(step)} is not open`;
  }

  #outsideCompaction(id: unknown, commandId: unknown): string | null {
    const compaction = this.#compaction;
    if (compaction === null) return "no compaction is open";
    return compaction.id === id && compaction.commandId === commandId
      ? null
      : `compaction ${show(compaction.id)} is open, which has another id or command`;
  }
}

/**
 * Whether a result is the closer of a call that was never started, word for word. The seq in its id is the one it had when it
 * was written, before any renumbering.
 */
function isNotStartedCloser(
  { message, error }: EventData["tool/result"],
  sources: readonly number[] | undefined,
): boolean {
  if (sources !== undefined || error?.name !== NOT_STARTED_ERROR.name || error.code !== NOT_STARTED_ERROR.code) {
    return false;
  }
  const prefix = `interrupted-tool-result-${message.source.callId}-`;
  if (!message.id.startsWith(prefix) || !/^\d+$/.test(message.id.slice(prefix.length))) return false;
  const [block] = message.content as readonly Extract<Block, { type: "tool-result" }>[];
  const [text, ...others] = block?.content ?? [];
  return others.length === 0 && text?.type === "text" && text.text === NOT_STARTED_TEXT;
}

/** Whether a rising list holds a number. */
function holds(rising: readonly number[], wanted: unknown): boolean {
  let low = 0;
  let high = rising.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = rising[middle]!;
    if (found === wanted) return true;
    if (found < (wanted as number)) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}
