/**
 * The world of the crash lab, as far as it is reached over HTTP. It writes down what took effect, holds requests back until their
 * sender is dead, and loses answers.
 *
 * @module
 */
import { TOKEN } from "../server/sandbox/sandbox_support.ts";
import type { LabCall, LabPlan, LabTool, Landing } from "./lab_plan.ts";
import { type Act, type Carrier, LabTargets } from "./lab_targets.ts";

/** Something that really happened. */
export interface LabEffect {
  /** Of the call in whose arguments it is named. */
  readonly callId: string;
  readonly tool: LabTool;
  /** `null` where the target knows no key. */
  readonly key: string | null;
  /** Milliseconds since the epoch; `null` where nobody saw it happen. */
  readonly at: number | null;
}

/** A request of a process that was killed. */
export interface LabRequest {
  readonly callId: string;
  /** Whether it landed when its sender was dead, and whether somebody had asked about it by then. */
  landedLate: boolean;
  landedAfterAsk: boolean;
}

/** How long nothing may happen before the world calls itself quiet: the last bytes of a dead process are then through. */
const QUIET_MS = 20;

/** A run, as the world sees it. */
interface Run {
  readonly plan: LabPlan;
  readonly onHeld: () => void;
  /** How many of its processes are dead. */
  deaths: number;
  /** Of the process that lives. */
  death: PromiseWithResolvers<void>;
}

/** What is held back. */
interface Gate {
  readonly run: Run;
  readonly callId: string;
  readonly key: string;
  readonly lands: Landing;
  readonly open: () => void;
  /** Resolves when it has landed. */
  readonly landed: Promise<void>;
}

/** A world. {@linkcode LabWorld.answer} is all of it that a process can reach. */
export class LabWorld implements AsyncDisposable {
  readonly token = TOKEN;
  readonly effects: LabEffect[] = [];
  readonly requests: LabRequest[] = [];
  readonly #calls = new Map<string, { readonly run: Run; readonly call: LabCall }>();
  /** Calls whose request came once. */
  readonly #seen = new Set<string>();
  /** Calls that were asked about. */
  readonly #asked = new Set<string>();
  readonly #gates = new Set<Gate>();
  readonly #targets: LabTargets;
  #moving = 0;
  #lastChangeMs = performance.now();

  /** @param forgets whether its bank and its outbox forget the keys that were closed */
  constructor(forgets = false) {
    const carrier: Carrier = {
      order: (callId, key, land) => this.#order(callId, key, land),
      lookup: (callId, key, act) => this.#lookup(callId, key, act),
      happened: (callId, tool, key) => void this.effects.push({ callId, tool, key, at: Date.now() }),
    };
    this.#targets = new LabTargets(carrier, forgets);
  }

  /** Gets to know a run. `onHeld` is called when a request of its living process is held back, or its answer is. */
  begin(plan: LabPlan, onHeld: () => void): void {
    const run: Run = { plan, onHeld, deaths: 0, death: Promise.withResolvers() };
    for (const call of plan.processes.flatMap(({ calls }) => calls)) this.#calls.set(call.id, { run, call });
  }

  /** A process of the run is dead. Resolves when what was to land now has. */
  async died({ id }: LabPlan): Promise<void> {
    const run = this.#runOf(id);
    run.deaths += 1;
    run.death.resolve();
    run.death = Promise.withResolvers();
    await this.#letGo((gate) => gate.run === run && gate.lands === "death");
  }

  /** The run is over: everything lands now. */
  async end({ id }: LabPlan): Promise<void> {
    const run = this.#runOf(id);
    run.death.resolve();
    await this.#letGo((gate) => gate.run === run);
  }

  /** What happened for the calls of a run. */
  effectsOf(plan: LabPlan): LabEffect[] {
    return this.effects.filter(({ callId }) => this.#calls.get(callId)?.run.plan.id === plan.id);
  }

  /** Resolves when nothing is under way and nothing has come for a while. */
  async whenQuiet(): Promise<void> {
    const askedMs = performance.now();
    const quietMs = () => performance.now() - Math.max(askedMs, this.#lastChangeMs);
    while (this.#moving > 0 || quietMs() < QUIET_MS) await pause(QUIET_MS / 4);
  }

  /** Answers what a process sends; `null` when it is nothing of the world. */
  async answer(request: Request, path: string): Promise<Response | null> {
    const answering = this.#targets.route(request, path);
    if (answering === null) return null;
    this.#move(1);
    try {
      return await answering;
    } catch (error) {
      // The process died while it was sending: what did not arrive whole is no request.
      return Response.json({ error: String(error) }, { status: 400 });
    } finally {
      this.#move(-1);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#letGo(() => true);
    await this.#targets.close();
  }

  /** A request that has an effect: carried out as the call's fate says. */
  async #order(callId: string, key: string, land: Act): Promise<Response> {
    const known = this.#calls.get(callId);
    // Fates are for the first try only, and only while its process lives: who comes later is not killed any more.
    if (known === undefined || this.#seen.has(callId) || isDead(known.run, known.call)) return await land();
    this.#seen.add(callId);
    const { run, call } = known;
    const request: LabRequest = { callId, landedLate: false, landedAfterAsk: false };
    this.requests.push(request);
    const landNow = async () => {
      request.landedLate = isDead(run, call);
      request.landedAfterAsk = this.#asked.has(callId) || this.#asked.has(key);
      return await land();
    };
    switch (call.fate.kind) {
      case "prompt":
        return await landNow();
      case "unanswered": {
        const { promise } = run.death;
        const answer = await landNow();
        run.onHeld();
        await this.#standing(promise);
        return answer;
      }
      case "late": {
        const opened = Promise.withResolvers<void>();
        const landed = Promise.withResolvers<void>();
        const gate = { run, callId, key, lands: call.fate.lands, open: opened.resolve, landed: landed.promise };
        this.#gates.add(gate);
        run.onHeld();
        await this.#standing(opened.promise);
        try {
          return await landNow();
        } finally {
          landed.resolve();
        }
      }
    }
  }

  /** A lookup: some requests land just before it is carried out, some just behind it, and some answers are lost. */
  async #lookup(callId: string | null, key: string, act: Act): Promise<Response> {
    const isAbout = (gate: Gate) => gate.key === key || gate.callId === callId;
    const name = callId ?? this.#callOfKey(key);
    const isLost = this.#calls.get(name ?? "")?.call.isLookupLost === true && !this.#asked.has(name!);
    await this.#letGo((gate) => gate.lands === "ask" && isAbout(gate));
    const answer = await act();
    this.#asked.add(key);
    if (name !== null) this.#asked.add(name);
    await this.#letGo((gate) => gate.lands === "after-ask" && isAbout(gate));
    if (!isLost) return answer;
    await answer.body?.cancel();
    return new Response("the answer is lost", { status: 503 });
  }

  #callOfKey(key: string): string | null {
    const held = [...this.#gates].find((gate) => gate.key === key)?.callId;
    return held ?? this.#targets.callOfKey(key);
  }

  async #letGo(isDue: (gate: Gate) => boolean): Promise<void> {
    const due = [...this.#gates].filter(isDue);
    for (const gate of due) {
      this.#gates.delete(gate);
      gate.open();
    }
    await Promise.all(due.map(({ landed }) => landed));
  }

  /** Waits for something that may take as long as it wants: meanwhile the world is quiet. */
  async #standing(until: Promise<void>): Promise<void> {
    this.#move(-1);
    await until;
    this.#move(1);
  }

  #move(requests: number): void {
    this.#moving += requests;
    this.#lastChangeMs = performance.now();
  }

  #runOf(id: string): Run {
    for (const { run } of this.#calls.values()) if (run.plan.id === id) return run;
    throw new Error(`The world knows no run ${id}`);
  }
}

/** Whether the process that makes a call is dead. */
function isDead({ plan, deaths }: Run, call: LabCall): boolean {
  return deaths > plan.processes.findIndex(({ calls }) => calls.includes(call));
}

function pause(delayMs: number): Promise<void> {
  return new Promise((over) => setTimeout(over, delayMs));
}
