import { assert, assertEquals } from "@std/assert";
import { pairedMessages } from "../../src/agent/mod.ts";
import { deriveMessages, pairingProblem } from "../../src/fold/mod.ts";
import { transcriptProblem } from "../agent/transcripts.ts";
import { FakeStore } from "../support/fake_store.ts";
import { callStep, compact, endTurn, newSession, openTurn, reopened, say } from "./bracket_support.ts";

const LONG = "a sentence that is long enough to be worth a summary of it, and then some more. ".repeat(12);

Deno.test("compaction/C-24, compaction/C-25, field/B15: whatever of a bracket a crash leaves, the session goes on and can be compacted again", async () => {
  for (const owner of ["turn", "none"] as const) {
    const store = new FakeStore();
    const session = await newSession(store);
    openTurn(session);
    const first = say(session, LONG);
    const [, last] = callStep(session, "c1", LONG);
    say(session, LONG);
    callStep(session, "c2", LONG);
    if (owner === "none") endTurn(session);
    await session.flush();
    const before = store.events("s1").length;
    await compact(session, first, last, { owner, isFlushed: true });
    const events = store.events("s1");
    const bracket = events.slice(before).map(({ type }) => type);
    assertEquals(bracket, ["compaction/start", "compaction/summary", "user/message", "compaction/end"]);
    for (let cut = before; cut <= events.length; cut++) {
      const left = new FakeStore();
      left.plant({ ...session.header }, events.slice(0, cut));
      const { session: next, store: nextStore } = await reopened(left);
      const { surface, brackets } = next.folds;
      assertEquals([surface.fault, brackets.compaction, brackets.turn], [null, null, null]);
      const hasLanded = cut >= before + 3;
      assertEquals(surface.replaceGeneration, hasLanded ? 1 : 0);
      assertEquals(surface.nodes.length, hasLanded ? 4 : 6);
      assertEquals(pairingProblem(surface.nodes), null);
      assertEquals(transcriptProblem(pairedMessages(deriveMessages(surface))), null);
      const ends = (await next.history()).events.filter(({ type }) => type === "compaction/end");
      assertEquals(ends.length, cut === events.length ? 1 : 0);

      const nodes = surface.nodes.toArray();
      await compact(next, nodes[0]!.seq, nodes.at(-1)!.seq, { isFlushed: true });
      assertEquals(next.folds.surface.replaceGeneration, hasLanded ? 2 : 1);
      assertEquals(nextStore.events("s1").length, next.nextSeq);
    }
  }
});

Deno.test("compaction/C-26: reopening without work adds nothing behind an orphan, and decides the same", async () => {
  const store = new FakeStore();
  const session = await newSession(store);
  const [a, b] = [say(session, LONG), say(session, LONG)];
  say(session, "newest");
  session.append({ type: "compaction/start", data: { compactionId: "k0", turn: null } });
  await session.flush();
  const once = await reopened(store);
  await once.session.flush();
  const length = once.session.nextSeq;
  let current = once;
  for (let n = 0; n < 2; n++) {
    current = await reopened(current.store);
    assertEquals(current.session.nextSeq, length);
    assertEquals(current.session.folds.brackets.compaction, null);
  }
  const { shadowedCount } = await compact(current.session, a, b);
  assert(shadowedCount === 2);
});
