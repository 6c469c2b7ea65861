/**
 * The surface without its texts: what a check of the order of a log needs, and no more.
 *
 * The real surface keeps every message the model sees. An old log is read once and passes by, so only the skeleton is kept: one
 * small object per message that stands.
 *
 * @module
 */
import { type EventData, isEvent, isSurfaceType, type Message, type SessionEvent } from "../../event/mod.ts";
import { type Surface, surfaceFold } from "../../fold/mod.ts";

const NOTHING: Message = { id: "-", role: "user", content: [], source: { kind: "-" } };

/** The surface after one more event. The checks of `surfaceFold` answer as they do with the texts. */
export function withSlim(surface: Surface, event: SessionEvent): Surface {
  return isSurfaceType(event.type) ? surfaceFold.apply(surface, slim(event)) : surface;
}

function slim(event: SessionEvent): SessionEvent {
  if (!isEvent(event, "tool/result")) {
    const data = event.type === "user/message" ? NOTHING : { message: NOTHING };
    return { ...event, data: data as unknown as SessionEvent["data"] };
  }
  // A replacement must repeat everything of a result but its content.
  const result: EventData["tool/result"] = event.data;
  const content = result.message.content.map((block) => ({ ...block, content: [] }));
  const data = { ...result, message: { ...result.message, content } };
  return { ...event as SessionEvent, data: data as unknown as SessionEvent["data"] };
}
