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
      return { name: "At rest", words: "no tab writes now; your next message opens it" };
    case "read-only":
      return { name: "Read-only", words: `${role.fault.code}: ${role.fault.message}` };
  }
}

/** The long explanation, for whoever points at the short one. */
const ROLE_TITLES: Readonly<Record<Role["kind"], string>> = {
  owner: "One tab at a time writes a session. It is this one.",
  viewer: "One tab at a time writes a session. When the other one is closed or dies, this one takes over.",
  stuck: "The browser froze the tab that writes. Nobody can take the log from it while it may still be writing.",
  released: "This tab let the log go because it was hidden and had nothing to do. Nothing is lost.",
  "read-only": "It is shown as far as it can be read, and is never written.",
};

/** Draws the role. */
export function RoleLine({ role }: { readonly role: Role }) {
  const { name, words } = roleText(role);
  return (
    <p class={`role role-${role.kind}`} title={ROLE_TITLES[role.kind]}>
      <strong>{name}</strong> <span>{words}</span>
    </p>
  );
}

const SYNC_WORDS: Readonly<Record<Durability["sync"], string>> = {
  device: "synced to the device",
  buffered: "buffered by the host",
  none: "never synced",
};

const KEPT_TITLES: Readonly<Record<Durability["persistence"], string>> = {
  persistent: "Persistent: the browser keeps the files until somebody clears this site",
  "best-effort": "Best effort: a browser that runs out of disk may clear this site; export what matters",
  volatile: "Nothing here survives the tab",
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
      <div class="lead" title="The last event of the log that survives a crash: its number">
        <dt>durable through</dt>
        <dd>
          {durableSeq >= 0 && <span class="mark" />} {durableSeq < 0 ? "nothing yet" : durableSeq}
        </dd>
      </div>
      <div class="pending-count" title="Events that are not on the medium yet; a crash now would lose them">
        <dt>pending</dt>
        <dd>
          {isAtRisk && <span class="mark" />} {pendingEvents} {pendingEvents === 1 ? "event" : "events"}
        </dd>
      </div>
      <div title="How large the pending events are: what a crash now would lose">
        <dt>at risk</dt>
        <dd>{sizeText(pendingBytes)}</dd>
      </div>
      <div title="How long making something durable took lately: half of the times, and all but one in a hundred">
        <dt>barrier p50 / p99</dt>
        <dd>{p50Ms === null || p99Ms === null ? "none yet" : `${milliseconds(p50Ms)} / ${milliseconds(p99Ms)} ms`}</dd>
      </div>
      <div class="minor" title="Where a write is when it counts as durable">
        <dt>medium</dt>
        <dd>{SYNC_WORDS[sync]}</dd>
      </div>
      <div title={KEPT_TITLES[kept]}>
        <dt>kept</dt>
        <dd>
          {kept === "persistent"
            ? "until you clear it"
            : kept === "best-effort"
            ? "while there is room"
            : "only in memory"}
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
