import { assert, assertEquals } from "@std/assert";
import { hasCode, type LogWriter, type SessionEvent } from "../../../mod.ts";
import { type Command, openPostgresStore, type PostgresStore } from "../../../src/entry/postgres.ts";
import { PostgresProxy } from "../../support/postgres_proxy.ts";
import { startPostgres } from "../../support/postgres.ts";
import { administer, freshPlace, type Place, removePlace } from "./context.ts";

const header = { type: "session", version: 3, id: "a", createdAt: 1, isSeeded: false, delegationDepth: 0 } as const;

function event(seq: number): SessionEvent {
  return { type: "feedback/record", seq, time: 5, data: { text: `event ${seq}` } };
}

const INPUT = { key: "k1", kind: "input", body: { text: "ünï \u0000 \ud800" } } as const;

Deno.test("the table of commands", async (t) => {
  const server = await startPostgres();
  const step = (
    name: string,
    run: (
      parts: { open: (url?: string) => Promise<PostgresStore>; place: Place; log: LogWriter; owner: PostgresStore },
    ) => Promise<void>,
  ) =>
    t.step({
      ...{ name, sanitizeOps: false, sanitizeResources: false },
      async fn() {
        const place = freshPlace(server.url);
        const stores: PostgresStore[] = [];
        const open = async (url = place.url) => {
          stores.push(await openPostgresStore({ ...place, url, connectionsMax: 2 }));
          return stores.at(-1)!;
        };
        try {
          const owner = await open();
          const log = await owner.create(header);
          await log.append([event(0)]);
          await run({ open, place, log, owner });
        } finally {
          for (const store of stores) await store.close();
          await removePlace(place);
        }
      },
    });

  try {
    await step("a key stands for one command, whoever posts it", async ({ open, owner }) => {
      const other = await open();
      const posted = await other.commands.post("a", INPUT, 7);
      assertEquals([posted.isRepeated, posted.isSame], [false, true]);
      const wanted: Command = { ...INPUT, sessionId: "a", postedAt: 7, state: "pending", seq: null, outcome: null };
      assertEquals(posted.command, wanted);
      const again = await owner.commands.post("a", INPUT, 9);
      assertEquals([again.isRepeated, again.isSame, again.command], [true, true, wanted]);
      const another = await owner.commands.post("a", { ...INPUT, body: { text: "other" } }, 9);
      assertEquals([another.isRepeated, another.isSame, another.command], [true, false, wanted]);
      assertEquals(await owner.commands.pending(), [wanted]);
      assertEquals(await owner.commands.get("a", "none"), null);
    });

    await step(
      "a command for a session that is not there is refused, and goes with its session",
      async ({ owner, log }) => {
        const refused = await owner.commands.post("b", INPUT, 1).catch((error) => error);
        assert(hasCode(refused, "NOT_FOUND"), String(refused));
        await owner.commands.post("a", INPUT, 1);
        await log.close();
        await owner.delete("a");
        assertEquals(await owner.commands.pending(), []);
      },
    );

    await step("the batch with its event settles a command, in the same transaction", async ({ owner, log, place }) => {
      const { command } = await owner.commands.post("a", INPUT, 1);
      owner.commands.expect(command, ({ seq }) => seq === 2);
      await log.append([event(1)]);
      assertEquals((await owner.commands.get("a", "k1"))?.state, "pending");
      await log.append([event(2), event(3)]);
      assertEquals(await owner.commands.get("a", "k1"), { ...command, state: "done", seq: 2 });
      // Both were written by one transaction: the database says by which.
      const rows = await administer(
        place,
        "SELECT (SELECT xmin::text FROM command) = (SELECT xmin::text FROM event WHERE seq = 2) AS same",
      );
      assertEquals(rows[0]!["same"], true);
      await log.append([event(4)]);
      assertEquals((await owner.commands.get("a", "k1"))?.seq, 2);
    });

    await step("a batch that is refused settles nothing", async ({ owner, log, open, place }) => {
      const { command } = await owner.commands.post("a", INPUT, 1);
      await administer(place, "UPDATE holder SET lease_ms = 0");
      const next = await open();
      const taken = await next.open("a", "write");
      owner.commands.expect(command, () => true);
      const error = await log.append([event(1)]).catch((error) => error);
      assert(hasCode(error, "FENCED"), String(error));
      assertEquals((await next.commands.get("a", "k1"))?.state, "pending");
      assertEquals((await taken.read()).events.length, 1);
      // The new owner has it to do.
      next.commands.expect(command, () => true);
      await taken.append([event(1)]);
      assertEquals((await next.commands.get("a", "k1"))?.seq, 1);
    });

    await step("a batch whose COMMIT was lost settles its command once", async ({ open }) => {
      for (const [index, at] of (["before", "after"] as const).entries()) {
        const proxy = new PostgresProxy(server.url);
        const store = await open(proxy.url);
        const log = await store.create({ ...header, id: at });
        await log.append([event(0)]);
        const { command } = await store.commands.post(at, INPUT, index);
        store.commands.expect(command, ({ seq }) => seq === 1);
        proxy.breakCommit(at);
        assertEquals(await log.append([event(1)]), 1);
        assertEquals(proxy.broken, 1);
        assertEquals(await store.commands.get(at, "k1"), { ...command, state: "done", seq: 1 });
        await store.close();
        await proxy.close();
      }
    });

    await step("only who has the claim settles a command without an event", async ({ owner, open }) => {
      const other = await open();
      const { command } = await other.commands.post("a", { key: "c", kind: "cancel", body: {} }, 1);
      assertEquals(await other.commands.settle(command, { state: "void" }), false);
      assertEquals((await other.commands.get("a", "c"))?.state, "pending");
      assertEquals(await owner.commands.settle(command, { state: "void", outcome: "nothing ran" }), true);
      assertEquals(await owner.commands.settle(command, { state: "void" }), false);
      assertEquals(await other.commands.get("a", "c"), { ...command, state: "void", outcome: "nothing ran" });
    });

    await step("a desk is handed what waits, and what comes, until it is in hand", async ({ owner, open }) => {
      const other = await open();
      await other.commands.post("a", { key: "early", kind: "cancel", body: {} }, 1);
      const seen: string[] = [];
      const both = Promise.withResolvers<void>();
      const desk = owner.openDesk({
        async handle(_id, commands) {
          for (const command of commands) {
            if (!await owner.commands.settle(command, { state: "void" })) continue;
            seen.push(command.key);
            if (command.key === "early") await other.commands.post("a", { key: "late", kind: "cancel", body: {} }, 2);
            else both.resolve();
          }
        },
        report: (error) => both.reject(error),
      });
      await both.promise;
      await desk.close();
      assertEquals(seen, ["early", "late"]);
    });
  } finally {
    await server.stop();
  }
});
