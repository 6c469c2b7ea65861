/**
 * Requests, made from the log and from nothing else.
 *
 * @see execution §1.2 (8 to 10)
 * @module
 */
import {
  deepEqualJson,
  type EventData,
  type EventDraft,
  isEvent,
  type JsonValue,
  type RequestHeader,
  type SessionEvent,
  type ToolSchema,
  wellFormedJson,
  wellFormedMessage,
} from "../event/mod.ts";
import { deriveMessages, logFold, type LogFolds } from "../fold/mod.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import type { CallConfig } from "./hooks.ts";
import { pairedMessages } from "./paired_messages.ts";

/** What is set beside provider and model. */
export type RequestParameters = Omit<RequestHeader["config"], "provider" | "model">;

/**
 * The request that a log with these folds makes next.
 *
 * Everything in it is in the log, so that every request ever sent can be made again from the log alone.
 *
 * @throws {TypeError} when the log holds no `request/header`
 *
 * @example
 * ```ts
 * import { foldEvents, logFold } from "../fold/mod.ts";
 * import { requestOf } from "./request.ts";
 *
 * const header = { config: { provider: "demo", model: "demo" } };
 * const folds = foldEvents(logFold, [
 *   { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } },
 *   { type: "request/header", seq: 1, time: 1, data: { header, reason: "initial" } },
 * ]);
 * if (requestOf("s1", folds).header.config.model !== "demo") throw new Error("unreachable");
 * ```
 */
export function requestOf(sessionId: string, { route, surface }: Pick<LogFolds, "route" | "surface">): ModelRequest {
  if (route.header === null) throw new TypeError("Cannot make a request: the log has no request/header");
  // The log keeps what came; a provider is told only what every strict parser reads.
  const messages = pairedMessages(deriveMessages(surface)).map(wellFormedMessage);
  return Object.freeze({ sessionId, header: wellFormedJson(route.header), messages: Object.freeze(messages) });
}

/** A request that was made, and where the log says how it went. */
export interface PastRequest {
  /** seq of the `assistant/message` or `assistant/attempt` that holds its stream. */
  readonly seq: number;
  /** The request as it was sent. */
  readonly request: ModelRequest;
}

/**
 * Every request a log tells of, made again, in order. What was sent and not answered before a crash is not among them.
 *
 * @param events a whole log
 *
 * @example
 * ```ts
 * import { pastRequests } from "./request.ts";
 *
 * if ([...pastRequests("s1", [])].length !== 0) throw new Error("unreachable");
 * ```
 */
export function* pastRequests(sessionId: string, events: Iterable<SessionEvent>): Generator<PastRequest> {
  let folds = logFold.initial();
  for (const event of events) {
    const isAnswer = isEvent(event, "assistant/message") || isEvent(event, "assistant/attempt");
    if (isAnswer && folds.route.header !== null) yield { seq: event.seq, request: requestOf(sessionId, folds) };
    folds = logFold.apply(folds, event);
  }
}

/** What the next request is made with. */
export interface RequestSettings {
  readonly config: CallConfig;
  /** Who will be asked, as far as it is known. */
  readonly model: Model | null;
  readonly tools: readonly ToolSchema[];
  /**
   * - `first` of this process in this session: the header is logged in any case
   * - `series`: the conversation before it was rewritten, so that the provider has cached nothing of it: the header is logged too
   * - `next`: the header is logged when it has changed
   */
  readonly position: "first" | "series" | "next";
}

/**
 * The `request/header` and `request/context` that the log needs before the next request; none when both still hold.
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { routeDrafts } from "./request.ts";
 *
 * const settings = { config: { provider: "p", model: "m" }, model: null, tools: [], position: "first" } as const;
 * const drafts = routeDrafts(logFold.initial().route, settings);
 * if (drafts.map((draft) => draft.type).join() !== "request/header,request/context") throw new Error("unreachable");
 * ```
 */
export function routeDrafts(route: LogFolds["route"], settings: RequestSettings): EventDraft[] {
  const { config, model, tools } = settings;
  const header: RequestHeader = {
    config: present(config),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })) }),
  };
  const contextWindow = model?.id === config.model ? model.contextWindow : undefined;
  const context: EventData["request/context"] = {
    provider: config.provider,
    model: config.model,
    ...present({ contextWindow }),
  };

  const drafts: EventDraft[] = [];
  const reason = headerReason(route, header, settings.position);
  if (reason !== null) drafts.push({ type: "request/header", data: { header, ...reason } });
  if (!isSame(route.context, context)) drafts.push({ type: "request/context", data: context });
  return drafts;
}

type HeaderReason = Pick<EventData["request/header"], "reason" | "startsSeries">;

function headerReason(
  route: LogFolds["route"],
  header: RequestHeader,
  position: RequestSettings["position"],
): HeaderReason | null {
  if (position === "first") return { reason: route.header === null ? "initial" : "resume" };
  const hasChanged = !isSame(route.header, header);
  if (position === "series") return hasChanged ? { reason: "change", startsSeries: true } : { reason: "series" };
  return hasChanged ? { reason: "change" } : null;
}

function isSame(logged: unknown, wanted: unknown): boolean {
  return logged !== null && deepEqualJson(logged as JsonValue, wanted as JsonValue);
}

/** The members that are set: an event has no member that is `undefined`. */
function present<Members extends object>(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members;
}
