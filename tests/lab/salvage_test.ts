/**
 * What a crash leaves damaged is refused, and salvaged: everything acknowledged is in the copy, and the copy goes on.
 */
import { assert, assertEquals } from "@std/assert";
import { zstdDecompressSync } from "node:zlib";
import { createJudge, type LabTrace, parseUnit, replayUnit } from "../../src/testing/mod.ts";

const decodeFrame = (frame: Uint8Array) => zstdDecompressSync(frame);

Deno.test("every refused state is salvaged with everything that was acknowledged, and the judge would see it otherwise", async () => {
  const judge = createJudge({ decodeFrame });
  let judged = 0;
  for (
    const [text, seed] of [["random:posix:none:send-send-say-stop/", 392_876_157], ["all:opfs:zstd:say", 1]] as const
  ) {
    let refused = 0;
    let salvaged = 0;
    for (
      const { tried: { trace, refused: code }, violations } of await replayUnit(parseUnit(text, seed), undefined, {
        decodeFrame,
      })
    ) {
      assertEquals(violations, [], text);
      if (code === null) continue;
      refused++;
      if (trace.salvaged === undefined) {
        assert(trace.acknowledgedThroughSeq < 0, "something was acknowledged, and nothing salvaged");
        continue;
      }
      assert(trace.salvaged.wentOn);
      salvaged++;
      if (judged > 3 || trace.acknowledgedThroughSeq < 0) continue;
      const checkers = (changed: LabTrace["salvaged"]) =>
        judge({ ...trace, salvaged: changed }).map(({ checker }) => checker);
      assertEquals(checkers({ ...trace.salvaged, files: new Map() }), ["acknowledged-kept"]);
      assertEquals(checkers({ ...trace.salvaged, wentOn: false }), ["liveness"]);
      judged++;
    }
    console.log(`${text}: ${refused} states refused, ${salvaged} of them salvaged, the others without an event`);
    assert(salvaged > 0, text);
  }
  assert(judged > 0);
});
