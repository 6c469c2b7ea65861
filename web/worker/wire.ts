/**
 * The edge to the page: errors as plain data, and a look at what comes in.
 *
 * @module
 */
import { CompactionError, HoldfastError } from "../../mod.ts";
import type { PageRequest, PageVerb, WireError } from "../protocol.ts";

/** A refusal with a code of its own choice, for what no code of the core names. */
export class Refusal extends Error {
  readonly code: string;
  readonly sessionIds: readonly string[] | undefined;

  constructor(code: string, message: string, sessionIds?: readonly string[]) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.sessionIds = sessionIds;
  }
}

/** An error as it crosses to the page: its code, or its name when it has none. */
export function wireError(error: unknown): WireError {
  if (error instanceof Refusal) {
    const { code, message, sessionIds } = error;
    return sessionIds === undefined ? { code, message } : { code, message, sessionIds };
  }
  if (error instanceof HoldfastError) {
    const wire = { code: error.code, message: withCause(error) };
    // Who has the name that was wanted.
    return "sessionId" in error ? { ...wire, sessionIds: [String(error.sessionId)] } : wire;
  }
  if (error instanceof CompactionError) {
    return { code: `COMPACTION_${error.code.toUpperCase()}`, message: withCause(error) };
  }
  if (error instanceof Error) return { code: error.name, message: error.message };
  if (typeof error === "object" && error !== null && "code" in error && "message" in error) {
    return { code: String(error.code), message: String(error.message) };
  }
  return { code: "Error", message: String(error) };
}

/** A barrier says that it failed; why it failed is in its cause. */
function withCause({ message, cause }: Error): string {
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message;
}

/** An error that came over a wire, thrown again on this side. */
export function unwired({ code, message, sessionIds }: WireError): Refusal {
  return new Refusal(code, message, sessionIds);
}

const TEXT = "string";
const COUNT = "number";
const FLAG = "boolean?";

/** What each verb must bring, by the type of each member; a `?` may be missing, an `object` is looked at by its verb. */
const ASKS: Readonly<Record<PageVerb, Readonly<Record<string, string>>>> = {
  hello: { tabLabel: TEXT, state: TEXT, volatile: FLAG },
  list: {},
  create: { volatile: FLAG },
  attach: { id: TEXT },
  detach: { id: TEXT },
  send: { id: TEXT, inputId: TEXT, text: TEXT },
  cancel: { id: TEXT },
  compact: { id: TEXT },
  answer: { id: TEXT, question: TEXT, decision: TEXT },
  settle: { id: TEXT, callSeq: COUNT, verdict: TEXT, note: "string?" },
  history: { id: TEXT, from: COUNT, limit: COUNT },
  places: { id: TEXT, seqs: "object" },
  surface: { id: TEXT },
  export: { id: TEXT },
  import: { name: TEXT, bytes: "object" },
  delete: { id: TEXT },
  forgetLost: {},
  model: { choice: "object" },
  state: { state: TEXT },
  persisted: { isPersisted: "boolean" },
  crash: { at: TEXT },
  bank: {},
};

/** Words a member may be, where it is one of a few. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  state: ["visible", "hidden", "freeze", "resume", "pagehide"],
  decision: ["allowed-once", "rejected"],
  verdict: ["happened", "absent", "retry"],
  at: ["now", "before-effect", "after-effect"],
};

/**
 * Looks at a message of the page.
 *
 * @returns the request; a refusal with the number to answer under; `null` for what is no request at all and gets no answer
 */
export function readRequest(
  message: unknown,
): { readonly request: PageRequest } | { readonly number: number; readonly refusal: WireError } | null {
  if (typeof message !== "object" || message === null) return null;
  const { request: number, verb, ask } = message as Record<string, unknown>;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) return null;
  if (typeof verb !== "string" || !Object.hasOwn(ASKS, verb)) {
    return {
      number,
      refusal: { code: "TypeError", message: `Cannot answer "${String(verb)}": there is no such verb` },
    };
  }
  const problem = problemOf(ASKS[verb as PageVerb], ask);
  if (problem === null) return { request: message as PageRequest };
  return { number, refusal: { code: "TypeError", message: `Cannot answer "${verb}": ${problem}` } };
}

function problemOf(members: Readonly<Record<string, string>>, ask: unknown): string | null {
  if (typeof ask !== "object" || ask === null) return "ask is no object";
  for (const [name, type] of Object.entries(members)) {
    const value = (ask as Record<string, unknown>)[name];
    if (value === undefined && type.endsWith("?")) continue;
    const wanted = type.replace("?", "");
    if (typeof value !== wanted || value === null) return `ask.${name} is no ${wanted}`;
    const words = WORDS[name];
    if (words !== undefined && !words.includes(value as string)) return `ask.${name} is none of ${words.join(", ")}`;
  }
  return null;
}
