import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { AlreadyExistsError } from "../../src/errors.ts";
import { createSession, ID_TRIES_MAX } from "../../src/session/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";

Deno.test("createSession() writes nothing, and makes a header without absent members", async () => {
  const store = new FakeStore({ clock: new FakeClock(1_767_225_600_000) });
  const session = await createSession({ store });
  assertMatch(session.id, /^01kdvdna00[0-9a-z]{4}$/);
  assertEquals(session.header, {
    type: "session",
    version: 3,
    id: session.id,
    createdAt: 1_767_225_600_000,
    isSeeded: false,
    delegationDepth: 0,
  });
  assertEquals(store.calls, []);
  await session.close();
});

Deno.test("createSession() takes every member of a header, in the format's order", async () => {
  const members = {
    cwd: "/srv/u",
    parentSession: "p",
    origin: "subagent",
    delegationDepth: 2,
    agentPreset: "ptc",
  } as const;
  const session = await createSession({ store: new FakeStore(), id: "s", ...members });
  assertEquals(
    Object.keys(session.header).join(),
    "type,version,id,createdAt,cwd,parentSession,isSeeded,origin,delegationDepth,agentPreset",
  );
  await session.close();
});

Deno.test("createSession() refuses a header that would not open again", async () => {
  const store = new FakeStore();
  await assertRejects(() => createSession({ store, cwd: "relative/path" }), TypeError);
  await assertRejects(() => createSession({ store, id: "" }), TypeError);
  await assertRejects(() => createSession({ store, delegationDepth: -1 }), TypeError);
  assertEquals(store.logs.size, 0);
});

Deno.test("createSession() refuses a taken id, and draws another when it chose the id itself", async () => {
  let draws = 0;
  const idBytes = (size: number) => size === 4 ? (draws++ === 0 ? 1 : 2) : 0;
  const random = { bytes: (size: number) => new Uint8Array(size).fill(idBytes(size)) };
  const store = new FakeStore({ random });
  const first = await createSession({ store, id: "s" });
  await assertRejects(() => createSession({ store, id: "s" }), AlreadyExistsError);

  const drawn = await createSession({ store });
  draws = 0;
  const redrawn = await createSession({ store });
  assertEquals([drawn.id.slice(-4), redrawn.id.slice(-4)], ["1111", "2222"]);

  let asked = 0;
  const stuck = { bytes: (size: number) => (asked++, new Uint8Array(size).fill(1)) };
  await assertRejects(() => createSession({ store, random: stuck }), AlreadyExistsError);
  assertEquals(asked, ID_TRIES_MAX);
  for (const session of [first, drawn, redrawn]) await session.close();
});
