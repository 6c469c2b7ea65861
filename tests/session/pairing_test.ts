import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { openSession } from "../../src/session/mod.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { FakeStore } from "../support/fake_store.ts";

function header(id: string) {
  return { version: 3, id, createdAt: 1, isSeeded: false } as unknown as Parameters<FakeStore["plant"]>[0];
}

async function opened(log: LogBuilder) {
  const store = new FakeStore();
  store.plant(header("s1"), log.events);
  return await openSession({ store, id: "s1" });
}

Deno.test("openSession() checks the pairs of the whole surface, says what is wrong, and goes on", async () => {
  const log = new LogBuilder();
  log.openStep("c1");
  log.call("c1");
  log.result("c1");
  log.endStep();
  log.endTurn();
  assertEquals((await opened(log)).resumed.pairingProblem, null);
  log.openStep("c1");
  log.endStep();
  log.endTurn();
  const { session, resumed } = await opened(log);
  assertMatch(resumed.pairingProblem!, /call "c1" of seq \d+ stands on the surface twice/);
  session.append({ type: "turn/start", data: { turn: 3 } });
});

Deno.test("append() refuses a replacement that parts a call from its result, whoever makes it", async () => {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  const first = log.user("look");
  const call = log.assistant(["c1"]);
  log.call("c1");
  log.result("c1");
  log.endStep();
  log.endTurn();
  const { session } = await opened(log);
  const data = { id: "x", role: "user", content: [], source: { kind: "plugin", plugin: "other" } };
  const surfaceOp = { op: "replace", startSeq: first, endSeq: call } as const;
  const before = session.nextSeq;
  assertThrows(
    () => session.append({ type: "user/message", data, surfaceOp, sourceEventSeqs: [first, call] }),
    TypeError,
    "parts a call from its result",
  );
  assertEquals(session.nextSeq, before);
});
