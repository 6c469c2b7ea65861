/**
 * The two ways in which an old log is refused.
 *
 * @see session-format §10.1
 * @module
 */
import { CorruptLogError, UnsupportedFormatError } from "../../errors.ts";

/** The event a refusal is about; seqs are those of the source file. */
export interface Refused {
  readonly seq: number;
  readonly type?: unknown;
}

/** Intact, and without a place in the next version. */
export function refuse(event: Refused, found: string): never {
  const type = typeof event.type === "string" ? event.type : undefined;
  throw new UnsupportedFormatError(`Cannot migrate ${nameOf(event)}: ${found}`, { seq: event.seq, type });
}

/** Damage: a program of that version would not go on with this session either. */
export function refuseDamage(event: Refused, found: string): never {
  throw new CorruptLogError(`Cannot read ${nameOf(event)}: ${found}`, { seq: event.seq });
}

function nameOf({ seq, type }: Refused): string {
  return typeof type === "string" ? `event ${seq} (${JSON.stringify(type)})` : `event ${seq}`;
}
