import { assertEquals, assertRejects } from "@std/assert";
import { NotFoundError } from "../../src/errors.ts";
import { createSession, readSession } from "../../src/session/mod.ts";
import { FakeStore } from "../support/fake_store.ts";
import { appendOpenTurn, typesOf } from "./drafts.ts";

Deno.test("readSession() folds a log beside its writer, shows what repair would add, and writes nothing", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  appendOpenTurn(session, { a: "recorded" });
  await session.flush();
  const calls = store.calls.length;

  const { log, folds, open, closers } = await readSession({ store, id: "s" });
  assertEquals(JSON.stringify(folds), JSON.stringify(session.folds));
  assertEquals(open?.calls.map((call) => call.class), ["not_dispatched"]);
  assertEquals(typesOf(closers), ["tool/result", "step/end", "turn/end"]);
  await log.close();
  assertEquals(store.calls.length, calls);
  await assertRejects(() => readSession({ store, id: "none" }), NotFoundError);
  await session.close();
});
