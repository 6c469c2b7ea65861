import { assert, assertEquals } from "@std/assert";
import { walkFrame } from "../../src/frame/walk.ts";
import { portable } from "./frames.ts";
import { judge } from "./independent_walk.ts";

Deno.test("portable compress() stores blocks of at most 128 KiB and asks a reader for no larger window", () => {
  for (const sizeBytes of [0, 1, 255, 256, 131_072, 131_073, 400_000]) {
    const frame = portable.compress(new Uint8Array(sizeBytes));
    const { blockTypes } = judge(frame).frames[0]!;
    assertEquals(blockTypes, Array(Math.max(1, Math.ceil(sizeBytes / 131_072))).fill("raw"));
    const walk = walkFrame(frame, 0);
    assert(walk.kind === "frame");
    assertEquals(walk.windowSizeBytes, Math.min(sizeBytes, 131_072));
    assertEquals(walk.contentSizeBytes, sizeBytes);
  }
});
