/**
 * Requests, made from the log and from nothing else.
 *
 * @see execution §1.2 (8 to 10)
 * @module
 */
import { deepEqualJson, type EventData, type EventDraft, type JsonValue, type RequestHeader } from "../event/mod.ts";
import { deriveMessages, type LogFolds } from "../fold/mod.ts";
import type { Model, ModelRequest } from "../model/model.ts";
import type { Tool } from "../tool/mod.ts";

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
  return Object.freeze({ sessionId, header: route.header, messages: Object.freeze(deriveMessages(surface)) });
}

/** What a loop asks with. */
export interface RequestSettings {
  readonly model: Model;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly parameters: RequestParameters;
}

/**
 * The `request/header` and `request/context` that the log needs before the next request; none when both still hold.
 *
 * @param isFirst whether this process makes its first request in this session: then the header is logged in any case
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { scripted } from "./models/mod.ts";
 * import { routeDrafts } from "./request.ts";
 *
 * const drafts = routeDrafts(logFold.initial().route, { model: scripted([]), tools: new Map(), parameters: {} }, true);
 * if (drafts.map((draft) => draft.type).join() !== "request/header,request/context") throw new Error("unreachable");
 * ```
 */
export function routeDrafts(route: LogFolds["route"], settings: RequestSettings, isFirst: boolean): EventDraft[] {
  const { model, parameters } = settings;
  const { provider, id, contextWindow } = model;
  const tools = [...settings.tools.values()].map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  const header: RequestHeader = {
    config: { provider, model: id, ...present(parameters) },
    ...(tools.length === 0 ? {} : { tools }),
  };
  const context: EventData["request/context"] = { provider, model: id, ...present({ contextWindow }) };

  const drafts: EventDraft[] = [];
  if (isFirst || !isSame(route.header, header)) {
    const reason = !isFirst ? "change" : route.header === null ? "initial" : "resume";
    drafts.push({ type: "request/header", data: { header, reason } });
  }
  if (!isSame(route.context, context)) drafts.push({ type: "request/context", data: context });
  return drafts;
}

function isSame(logged: unknown, wanted: unknown): boolean {
  return logged !== null && deepEqualJson(logged as JsonValue, wanted as JsonValue);
}

/** The members that are set: an event has no member that is `undefined`. */
function present<Members extends object>(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Members;
}
