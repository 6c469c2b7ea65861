import { assert, assertEquals } from "@std/assert";
import {
  isKnownType,
  isOwnType,
  isRequiredUnknown,
  isSurfaceType,
  KNOWN_TYPES,
  OWN_TYPES,
  SURFACE_TYPES,
} from "../../src/event/mod.ts";

Deno.test("KNOWN_TYPES names the 56 types of version 3, none of them ours", () => {
  assertEquals(KNOWN_TYPES.size, 56);
  assertEquals(OWN_TYPES.size, 7);
  for (const type of OWN_TYPES) assert(!isKnownType(type), type);
  for (const type of SURFACE_TYPES) assert(isKnownType(type), type);
});

Deno.test("isKnownType() knows no type that only older versions write", () => {
  for (
    const type of ["assistant/chunk", "tool/code-dispatch", "tool/code-dispatch-start", "compact/start", "mode/set"]
  ) {
    assert(!isKnownType(type), type);
  }
  for (const type of ["tool/ptc-dispatch", "tool-workflow/run-end", "team/message/queued", "assistant/attempt"]) {
    assert(isKnownType(type), type);
  }
});

Deno.test("isSurfaceType() holds for the four types that carry a message", () => {
  assertEquals([...KNOWN_TYPES, ...OWN_TYPES].filter(isSurfaceType), [...SURFACE_TYPES]);
  assert(!isSurfaceType("tool/call") && isOwnType("log/salvaged"));
});

Deno.test("isRequiredUnknown() holds only without ignorable: true", () => {
  assert(isRequiredUnknown({ type: "future/thing" }));
  assert(!isRequiredUnknown({ type: "future/thing", ignorable: true }));
  assert(!isRequiredUnknown({ type: "turn/start" }));
  assert(!isRequiredUnknown({ type: "effect/dispatched" }));
});
