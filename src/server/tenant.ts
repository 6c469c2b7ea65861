/**
 * What belongs to one token: a store of its own, and the agent, sessions, questions and tails over it.
 *
 * @module
 */
import type { Agent, Approver, Clock, LogReader, SessionStore } from "../../mod.ts";
import type { SharedStore } from "../entry/shared_store.ts";
import { Elsewhere } from "./elsewhere.ts";
import { HostedSessions } from "./hosted_sessions.ts";
import { REQUESTS_PER_TOKEN_MAX, STREAMS_PER_TOKEN_MAX } from "./limits.ts";
import { OwnerDesk } from "./owner_desk.ts";
import { Questions } from "./questions.ts";
import { Slots } from "./slots.ts";
import { Tails } from "./tails.ts";

/** What a host gives for one token. */
export interface TenantParts {
  /** Of this token alone. The server closes it. */
  readonly store: SessionStore;
  /** What the store has besides, when many processes share it: then sessions that others write are asked of them. */
  readonly shared?: SharedStore;
  /** Makes the agent over that store. What asks is answered by `approver`. */
  readonly agentWith: (approver: Approver) => Agent;
  /** Works with a log that came as bytes, whatever its encoding. Nothing is kept of it. */
  readonly withLog: <Result>(
    bytes: Uint8Array<ArrayBuffer>,
    work: (reader: LogReader) => Promise<Result>,
  ) => Promise<Result>;
  /** The most text all rows of a log that is taken in may have, in UTF-16 units. Default IMPORT_CONTENT_LENGTH_MAX. */
  readonly importLengthMax?: number;
  /** Rows as one frame of a log, for the export to zstd; absent when there is none. */
  readonly encodeFrame?: (rows: readonly string[]) => Uint8Array;
  /** Lets tools with effects run on a medium that promises nothing. */
  readonly volatile?: boolean;
}

/** What they all share. */
export interface TenantSettings {
  readonly clock: Clock;
  /** How long a question waits; `null` = as long as its turn. */
  readonly approvalDeadlineMs: number | null;
  readonly hostedSessionsMax?: number;
  readonly report: (error: unknown) => void;
}

/** Everything of one token. */
export interface Tenant {
  /** Id of the token. */
  readonly id: string;
  readonly parts: TenantParts;
  readonly store: SessionStore;
  readonly sessions: HostedSessions;
  readonly questions: Questions;
  readonly tails: Tails;
  readonly requests: Slots;
  readonly streams: Slots;
  /** Asks for what another process writes; `null` when the store is of this process alone. */
  readonly elsewhere: Elsewhere | null;
  /** Does what others ask; `null` likewise. */
  readonly desk: OwnerDesk | null;
}

/**
 * Puts together what belongs to one token.
 *
 * @example
 * ```ts
 * import { makeTenant, type TenantParts, type TenantSettings } from "./tenant.ts";
 *
 * function sessionsOf(parts: TenantParts, settings: TenantSettings) {
 *   return makeTenant("0123456789abcdef", parts, settings).sessions;
 * }
 * ```
 */
export function makeTenant(id: string, parts: TenantParts, settings: TenantSettings): Tenant {
  const { clock, report, approvalDeadlineMs, hostedSessionsMax } = settings;
  const { store, volatile, shared } = parts;
  const questions = new Questions({ clock, deadlineMs: approvalDeadlineMs });
  const tails = new Tails({ store, clock });
  const sessions = new HostedSessions({
    ...{ store, clock, volatile, report, sessionsMax: hostedSessionsMax },
    agent: parts.agentWith(questions.approver),
    onLive(sessionId, live) {
      questions.hear(sessionId, live);
      tails.hear(sessionId, live);
    },
    onClosed: (sessionId) => shared?.commands.forget(sessionId),
  });
  const requests = new Slots(REQUESTS_PER_TOKEN_MAX, "requests");
  const streams = new Slots(STREAMS_PER_TOKEN_MAX, "streams");
  const elsewhere = shared === undefined ? null : new Elsewhere({ shared, sessions, clock });
  const desk = shared === undefined ? null : new OwnerDesk({ shared, store, sessions, questions, report });
  return { id, parts, store, sessions, questions, tails, requests, streams, elsewhere, desk };
}
