/**
 * Two lines that are always there: who writes this session, and how much of it is safe.
 *
 * @module
 */
import type { Durability, Role } from "../protocol.ts";
import { sizeText } from "./marks.tsx";
import type { PageState } from "./page_state.ts";

/** What a role means here, in a sentence. */
export function roleText(role: Role): { readonly name: string; readonly words: string } {
  switch (role.kind) {
    case "owner":
      return { name: "Owner", words: "this tab writes the log" };
    case "viewer":
      return { name: "Viewer", words: `${role.ownerLabel} writes; what you do here is forwarded to it` };
    case "stuck":
      return { name: "Read-only for now", words: `${role.reason}. Wake or close ${role.ownerLabel}` };
    case "released":
      return { name: "Released", words: "nobody writes now; your next message opens it" };
    case "read-only":
      return { name: "Read-only", words: `${role.fault.code}: ${role.fault.message}` };
  }
}

/** Draws the role. */
export function RoleLine({ role }: { readonly role: Role }) {
  const { name, words } = roleText(role);
  return (
    <p class={`role role-${role.kind}`}>
      <strong>{name}</strong> <span>{words}</span>
    </p>
  );
}

const SYNC_WORDS: Readonly<Record<Durability["sync"], string>> = {
  device: "synced to the device",
  buffered: "buffered by the host",
  none: "never synced",
};

/** Draws the durability line. */
export function DurabilityLine({ durability, persistence }: {
  readonly durability: Durability;
  readonly persistence: PageState["persistence"];
}) {
  const { pendingEvents, pendingBytes, durableSeq, p50Ms, p99Ms, sync } = durability;
  const kept = persistence?.answer ?? durability.persistence;
  const isAtRisk = pendingEvents > 0;
  return (
    <dl class={isAtRisk ? "durability at-risk" : "durability"} aria-label="Durability">
      <div class="lead">
        <dt>durable through</dt>
        <dd>
          {durableSeq >= 0 && <span class="mark" />} {durableSeq < 0 ? "nothing yet" : durableSeq}
        </dd>
      </div>
      <div class="pending-count">
        <dt>pending</dt>
        <dd>
          {isAtRisk && <span class="mark" />} {pendingEvents} {pendingEvents === 1 ? "event" : "events"}
        </dd>
      </div>
      <div>
        <dt>at risk</dt>
        <dd>{sizeText(pendingBytes)}</dd>
      </div>
      <div>
        <dt>barrier p50 / p99</dt>
        <dd>{p50Ms === null || p99Ms === null ? "none yet" : `${milliseconds(p50Ms)} / ${milliseconds(p99Ms)} ms`}</dd>
      </div>
      <div class="minor">
        <dt>medium</dt>
        <dd>{SYNC_WORDS[sync]}</dd>
      </div>
      <div>
        <dt>kept</dt>
        <dd>
          {kept === "persistent" ? "persistent" : kept === "best-effort" ? "best effort" : "only in memory"}
          {persistence?.wasAsked === true && kept !== "volatile" && (
            <span class="aside">
              {kept === "persistent" ? "the browser agreed" : "asked; the browser may evict it"}
            </span>
          )}
        </dd>
      </div>
    </dl>
  );
}

function milliseconds(value: number): string {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}
