import { assertEquals } from "@std/assert";
import {
  BREAKS_MAX,
  newRoomState,
  nextRole,
  roleOf,
  type RoomAction,
  type RoomEvent,
  type RoomState,
  STUCK_AFTER_MS,
} from "../../web/worker/role.ts";
import { seededRandom } from "../support/seeded_random.ts";

/** The state and everything that was to be done after these events. */
function after(events: readonly RoomEvent[], start: RoomState = newRoomState("visible", 0)) {
  let state = start;
  const actions: RoomAction[] = [];
  for (const event of events) {
    const step = nextRole(state, event);
    state = step.state;
    actions.push(...step.actions);
  }
  return { state, actions };
}

const VISIBLE: RoomEvent = { kind: "page", state: "visible" };
const HIDDEN: RoomEvent = { kind: "page", state: "hidden" };
const FREEZE: RoomEvent = { kind: "page", state: "freeze" };
const RESUME: RoomEvent = { kind: "page", state: "resume" };
const GRANTED: RoomEvent = { kind: "granted" };
const OPENED: RoomEvent = { kind: "opened" };
const BEAT: RoomEvent = { kind: "beat", tab: "b", label: "other", nowMs: 100 };
const IDLE_GOODBYE: RoomEvent = { kind: "goodbye", tab: "b", isIdle: true };
const GOODBYE: RoomEvent = { kind: "goodbye", tab: "b", isIdle: false };
const OWNING = after([VISIBLE, GRANTED, OPENED]).state;

Deno.test("nextRole() stands in line, opens when it is granted, and owns", () => {
  const { state, actions } = after([VISIBLE, GRANTED, OPENED]);
  assertEquals(actions, ["stand-in-line", "open"]);
  assertEquals(roleOf(state, 0), { kind: "owner" });
});

Deno.test("nextRole() releases at freeze and at pagehide, and not twice", () => {
  for (const state of ["freeze", "pagehide"] as const) {
    const found = after([{ kind: "page", state }, { kind: "page", state }], OWNING);
    assertEquals(found.actions, ["release"]);
    assertEquals(found.state.phase, "releasing");
  }
});

Deno.test("nextRole() leaves the line before a freeze: a frozen tab must not be given the lock", () => {
  assertEquals(after([VISIBLE, FREEZE]).actions, ["stand-in-line", "leave-line"]);
  assertEquals(after([VISIBLE, FREEZE, GRANTED]).actions, ["stand-in-line", "leave-line", "give-back"]);
});

Deno.test("nextRole() breaks off an opening at freeze, and releases one that came through", () => {
  assertEquals(after([VISIBLE, GRANTED, FREEZE, { kind: "held", reason: "stopped" }]).actions, [
    "stand-in-line",
    "open",
    "stop-opening",
    "give-back",
  ]);
  assertEquals(after([VISIBLE, GRANTED, FREEZE, OPENED]).actions.at(-1), "release");
});

Deno.test("nextRole() lets an idle hidden owner go, and no other", () => {
  assertEquals(after([{ kind: "idle" }], OWNING).actions, []);
  assertEquals(after([HIDDEN, { kind: "wanted" }, { kind: "idle" }], OWNING).actions, []);
  assertEquals(after([HIDDEN, { kind: "idle" }], OWNING).actions, ["release-idle"]);
});

Deno.test("nextRole() keeps a hidden tab out of line after an idle release, until it is looked at or has input", () => {
  const hidden = after([HIDDEN, BEAT, IDLE_GOODBYE]);
  assertEquals(hidden.actions, ["stand-in-line", "leave-line"]);
  assertEquals(roleOf(hidden.state, 0), { kind: "released" });
  assertEquals(after([VISIBLE], hidden.state).actions, ["stand-in-line"]);
  assertEquals(after([{ kind: "wanted" }], hidden.state).actions, ["stand-in-line"]);
  assertEquals(after([BEAT], hidden.state).actions, ["stand-in-line"]);
  assertEquals(after([VISIBLE, HIDDEN], hidden.state).actions, ["stand-in-line", "leave-line"]);
});

Deno.test("nextRole() leaves a log that was taken in as it came, until there is input for it", () => {
  const untouched = { ...newRoomState("hidden", 0), owner: null, wasReleased: true, isUntouched: true };
  assertEquals(after([VISIBLE, HIDDEN, VISIBLE], untouched).actions, []);
  assertEquals(roleOf(untouched, 0), { kind: "released" });
  assertEquals(after([VISIBLE, { kind: "wanted" }, GRANTED, OPENED], untouched).actions, ["stand-in-line", "open"]);
  assertEquals(after([VISIBLE, BEAT], untouched).actions, ["stand-in-line"]);
});

Deno.test("nextRole() keeps a hidden tab in line when the owner dies or leaves", () => {
  assertEquals(after([HIDDEN, BEAT, GOODBYE, GRANTED]).actions, ["stand-in-line", "open"]);
  assertEquals(after([HIDDEN, BEAT, GRANTED]).actions, ["stand-in-line", "open"]);
});

Deno.test("nextRole() does not believe a late goodbye of an earlier owner", () => {
  const { state } = after([HIDDEN, BEAT, { kind: "goodbye", tab: "earlier", isIdle: true }]);
  assertEquals(state.isInLine, true);
  assertEquals(state.owner?.tab, "b");
});

Deno.test("nextRole() stays away after its own freeze while it is hidden, and comes back when it is looked at", () => {
  const woken = after([FREEZE, { kind: "released" }, RESUME], OWNING);
  assertEquals(woken.actions, ["release"]);
  assertEquals(roleOf(woken.state, 0), { kind: "released" });
  assertEquals(after([VISIBLE], woken.state).actions, ["stand-in-line"]);
});

Deno.test("nextRole() rereads a log that moved, and opens it again under the same lock", () => {
  assertEquals(after([VISIBLE, GRANTED, { kind: "moved" }, OPENED]).actions, [
    "stand-in-line",
    "open",
    "reread",
    "open",
  ]);
});

Deno.test("nextRole() gives the lock back for a log that cannot be written, and says why", () => {
  const fault = { code: "CORRUPT_LOG", message: "it is damaged" };
  const { state, actions } = after([VISIBLE, GRANTED, { kind: "refused", fault }]);
  assertEquals(actions.at(-1), "give-back");
  assertEquals(roleOf(state, 0), { kind: "read-only", fault });
  assertEquals(after([VISIBLE, BEAT, { kind: "wanted" }], state).actions, []);
});

Deno.test("nextRole() opens again after a break, and gives up after a few in a row", () => {
  const fault = { code: "SYNC_FAILED", message: "no" };
  let state = OWNING;
  for (let count = 1; count < BREAKS_MAX; count++) {
    const found = after([{ kind: "broken", fault }, { kind: "released" }, GRANTED, OPENED], state);
    assertEquals(found.actions, ["release", "stand-in-line", "open"]);
    state = found.state;
  }
  assertEquals(
    after([{ kind: "wrote" }, { kind: "broken", fault }, { kind: "released" }], state).state.phase,
    "viewing",
  );
  assertEquals(after([{ kind: "broken", fault }, { kind: "released" }], state).state.phase, "read-only");
});

Deno.test("roleOf() calls an owner that is silent for too long stuck, and names it", () => {
  const { state } = after([VISIBLE, BEAT]);
  assertEquals(roleOf(state, 100 + STUCK_AFTER_MS - 1), { kind: "viewer", ownerLabel: "other" });
  const role = roleOf(state, 100 + STUCK_AFTER_MS);
  assertEquals([role.kind, role.kind === "stuck" && role.ownerLabel], ["stuck", "other"]);
});

Deno.test("nextRole() never opens without the lock, never keeps it while viewing, over random events", () => {
  const random = seededRandom(7);
  const events: readonly RoomEvent[] = [
    ...[VISIBLE, HIDDEN, FREEZE, RESUME, { kind: "page", state: "pagehide" } as const, BEAT, GOODBYE, IDLE_GOODBYE],
    { kind: "wanted" },
    { kind: "satisfied" },
    { kind: "idle" },
    { kind: "wrote" },
    { kind: "broken", fault: { code: "LOCK_LOST", message: "" } },
  ];
  for (let run = 0; run < 2_000; run++) {
    let state = newRoomState("visible", 0);
    let holds = false;
    let isInLine = false;
    for (let count = 0; count < 40; count++) {
      // What answers an action comes at some time; everything else comes at any time.
      const answers: RoomEvent[] = state.phase === "opening"
        ? [OPENED, { kind: "moved" }, { kind: "held", reason: "" }]
        : state.phase === "releasing"
        ? [{ kind: "released" }]
        : isInLine
        ? [GRANTED]
        : [];
      const event = answers.length > 0 && random.below(3) === 0 ? random.pick(answers) : random.pick(events);
      if (event.kind === "granted") [holds, isInLine] = [true, false];
      if (event.kind === "released") holds = false;
      const step = nextRole(state, event);
      state = step.state;
      for (const action of step.actions) {
        if (action === "stand-in-line") isInLine = true;
        if (action === "leave-line") isInLine = false;
        if (action === "give-back") holds = false;
        if (["open", "release", "release-idle"].includes(action)) {
          assertEquals(holds, true, `${action} without the lock`);
        }
      }
      assertEquals(state.isInLine, isInLine);
      assertEquals(holds, ["opening", "owning", "releasing"].includes(state.phase), `${event.kind} → ${state.phase}`);
      if (state.page === "frozen") assertEquals(isInLine, false, "a frozen tab stands in line");
    }
  }
});
