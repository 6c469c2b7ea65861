/**
 * The tools of the lab: one for each way an effect can be declared, asked about and looked up, over one world.
 *
 * @module
 */
import { defineTool, type EffectClass, neverHappens, type Tool, type ToolCall, type ToolOutput } from "../../../mod.ts";
import { digestOf } from "./digest_of.ts";
import type { StageDoor } from "./stage.ts";
import type { Arrival, Dedupe, Order } from "./world.ts";

/** How long a request and its answer take, in simulated milliseconds, where nothing is left to chance. */
export const TRAVEL_MS = 10;

/** How long a body waits for an answer that does not come, in simulated milliseconds. */
export const PATIENCE_MS = 5000;

/** What a tool of the lab is like. */
export interface LabToolTraits {
  readonly name: LabToolName;
  readonly effect: EffectClass;
  readonly dedupe: Dedupe;
  /** Whether a person is asked. */
  readonly asks: boolean;
  /** Whether its target closes a key for ever when it is asked about one under which nothing happened. */
  readonly reconciles: boolean;
  /** Whether it runs beside others. */
  readonly isParallel: boolean;
}

/** The name of a tool of the lab. */
export type LabToolName = "dump" | "look" | "pay" | "put" | "send" | "mail" | "tip";

/** Every tool of the lab. */
export const LAB_TOOLS: readonly LabToolTraits[] = [
  { name: "look", effect: "none", dedupe: "by-state", asks: false, reconciles: false, isParallel: false },
  { name: "pay", effect: "keyed", dedupe: "by-key", asks: true, reconciles: true, isParallel: false },
  { name: "put", effect: "idempotent", dedupe: "by-state", asks: false, reconciles: false, isParallel: false },
  { name: "send", effect: "opaque", dedupe: "never", asks: true, reconciles: false, isParallel: false },
  { name: "mail", effect: "opaque", dedupe: "by-key", asks: false, reconciles: true, isParallel: false },
  { name: "tip", effect: "keyed", dedupe: "by-key", asks: false, reconciles: true, isParallel: true },
];

/** The tool whose results are kept beside the log; only where letters call it, so that nothing else changes. */
const DUMP: LabToolTraits = {
  ...{ name: "dump", effect: "none", dedupe: "by-state", asks: false, reconciles: false, isParallel: false },
};

/** How much text of a result the agents of the lab keep inline, in bytes. */
export const LAB_INLINE_BYTES_MAX = 800;

/** How long a result of that tool is, in characters. */
const DUMP_LENGTH = 1600;

/** Tools whose success means that the ledger has an entry. */
export const LEDGER_TOOLS: readonly string[] = LAB_TOOLS.filter(({ effect }) => effect !== "none").map(({ name }) =>
  name
);

/** Makes the tools of a lab. Each call goes to the world of whoever runs when its body begins. */
export function labTools(door: StageDoor): readonly Tool[] {
  return LAB_TOOLS.map((traits) => labTool(traits, door));
}

/** Makes the tool whose results are kept beside the log. */
export function dumpTool(door: StageDoor): Tool {
  return labTool(DUMP, door);
}

function labTool(traits: LabToolTraits, door: StageDoor): Tool {
  const { name, effect, asks, reconciles, isParallel } = traits;
  return defineTool({
    name,
    description: "",
    parameters: {},
    timeoutMs: PATIENCE_MS,
    effect,
    permission: () => asks ? { decision: "ask" } : { decision: "allow" },
    isConcurrencySafe: () => isParallel,
    execute: (args, call) => perform(traits, JSON.stringify(args), call, door),
    ...(reconciles
      ? {
        reconcile: async ({ effectKey }) => {
          const { world, clock, chance } = door.stage;
          if (chance !== null && chance.oneIn(4)) {
            // The answer takes its time, never comes, or is an error.
            if (chance.oneIn(3)) throw new Error("the target cannot be reached");
            if (chance.oneIn(2)) return await new Promise<never>(() => {});
            await clock.pause(chance.below(2000));
          }
          const found = world.close(effectKey);
          return found.state === "done"
            ? { verdict: "happened", result: found.receipt }
            : { verdict: "absent", note: "closed" };
        },
      }
      : {}),
  });
}

async function perform(traits: LabToolTraits, args: string, call: ToolCall, door: StageDoor): Promise<ToolOutput> {
  const { world, clock, incarnation, record, chance } = door.stage;
  const { effectKey, callId, callSeq, signal } = call;
  record.body(incarnation, callId, callSeq);
  // Each result is another one, so that each is another blob.
  if (traits.name === "dump") return `${callId} `.repeat(DUMP_LENGTH).slice(0, DUMP_LENGTH);
  if (traits.effect === "none") return "seen";
  const { name: tool, dedupe } = traits;
  const order: Order = { effectKey, tool, callId, incarnation, argsDigest: digestOf(args), arguments: args, dedupe };
  world.send(order);
  const isAnswered = chance === null || !chance.oneIn(8);
  const travelMs = chance === null ? TRAVEL_MS : chance.below(4) === 0 ? 1 + chance.below(900) : 1 + chance.below(20);
  await clock.pause(travelMs);
  if (!isAnswered && chance.oneIn(2)) return await never(signal); // It stays under way.
  const arrival = world.arrive(order);
  if (!isAnswered) return await never(signal);
  if (chance !== null) await clock.pause(chance.below(30));
  call.concludeTurn();
  return answer(arrival);
}

function answer(arrival: Arrival): string {
  if (arrival.state === "closed") throw neverHappens("the key is closed");
  return arrival.receipt;
}

/** No answer comes. Ends with the signal: the caller gave up. */
function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
