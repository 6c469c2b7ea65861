import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { passBarrier } from "../../src/checkpoint/mod.ts";
import { hasCode } from "../../src/errors.ts";
import { createSession, Probes, PROBES_MAX, type Session } from "../../src/session/mod.ts";
import { FakeStore } from "../support/fake_store.ts";

/** Notes what a session's probes are told, ends with their codes. */
function probed(session: Session): string[] {
  const told: string[] = [];
  const ended = (what: string) => (error: unknown) => {
    const code = error === null ? "fine" : (error as { code?: string }).code ?? (error as Error).name;
    told.push(`${what} ${code}`);
  };
  session.probes.add({
    write({ events, size }) {
      told.push(`write of ${events}${size > 0 ? "" : " of nothing"}`);
      return ended("write");
    },
    barrier({ barrier, throughSeq, effect }) {
      told.push(`${barrier} through ${throughSeq}, ${effect}`);
      return ended(barrier);
    },
  });
  return told;
}

Deno.test("probes hear of each write and each barrier, when it begins and how it ends", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  const told = probed(session);
  session.append({ type: "turn/start", data: { turn: 1 } });
  assertEquals([session.pendingEvents, session.pendingSize > 50], [2, true]);
  await passBarrier(session, { barrier: "tool", throughSeq: 1 });
  assertEquals(told, ["tool through 1, opaque", "write of 2", "write fine", "tool fine"]);
  assertEquals([session.pendingEvents, session.pendingSize], [0, 0]);
  await session.close();
});

Deno.test("probes hear of what fails, and of a batch again when it is tried again", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  const told = probed(session);
  session.append({ type: "turn/start", data: { turn: 1 } });
  store.failure = Object.assign(new Error("full"), { code: "STORAGE_FULL" });
  const refused = await assertRejects(() => passBarrier(session, { barrier: "model", throughSeq: 1 }));
  assertEquals(hasCode(refused, "CHECKPOINT_FAILED"), true);
  store.failure = null;
  await session.flush();
  assertEquals(told, [
    "model through 1, none",
    "write of 2",
    "write STORAGE_FULL",
    "model CHECKPOINT_FAILED",
    "write of 2",
    "write fine",
  ]);
  await session.close();
});

Deno.test("a probe that throws harms nobody; one that is taken away hears the end of what it saw begin, and no more", async () => {
  const store = new FakeStore();
  const session = await createSession({ store, id: "s" });
  const thrower = () => {
    throw new Error("out of order");
  };
  session.probes.add({ write: thrower, barrier: () => thrower });
  const told: string[] = [];
  const remove = session.probes.add({
    write() {
      told.push("begun");
      remove();
      return () => told.push("ended");
    },
  });
  session.append({ type: "turn/start", data: { turn: 1 } });
  assertEquals(await passBarrier(session, { barrier: "tool", throughSeq: 1 }), 1);
  session.append({ type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } });
  await session.flush();
  assertEquals(told, ["begun", "ended"]);
  await session.close();
});

Deno.test("Probes refuses more than PROBES_MAX", () => {
  const probes = new Probes("s");
  const removes = Array.from({ length: PROBES_MAX }, () => probes.add({}));
  assertThrows(() => probes.add({}), RangeError, `${PROBES_MAX} probes`);
  removes[0]!();
  probes.add({});
});
