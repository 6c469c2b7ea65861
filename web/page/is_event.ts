/**
 * Narrows an event by its type, as `isEvent` of `mod.ts` does. Repeated here so that the page takes types alone from the core
 * and carries none of its code.
 *
 * @module
 */
import type { EventOf, KnownData, SessionEvent } from "../../mod.ts";

/** Says whether the event is of this type. Its data was checked by the worker that read it. */
export function isEvent<Type extends KnownData>(
  event: SessionEvent,
  type: Type,
): event is EventOf<Type> & SessionEvent {
  return event.type === type;
}
