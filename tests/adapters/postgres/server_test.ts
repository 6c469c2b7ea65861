import { assert, assertEquals } from "@std/assert";
import { startPostgres } from "../../support/postgres.ts";
import {
  type AgentParts,
  EventStream,
  payStep,
  payTool,
  scriptedModel,
  startServer,
  type TestServer,
} from "../../server/server_support.ts";
import { knownToken } from "../../../src/server/auth.ts";
import { TOKEN } from "../../server/server_support.ts";
import { removePlace } from "./context.ts";

/** Two servers over one database, each with an agent of its own. */
interface Two {
  readonly first: TestServer;
  readonly second: TestServer;
}

Deno.test("servers that share one database", async (t) => {
  const database = await startPostgres();
  const schema = `holdfast_${(await knownToken(TOKEN)).id}`;
  const step = (name: string, agents: () => readonly [AgentParts, AgentParts], run: (two: Two) => Promise<void>) =>
    t.step({
      ...{ name, sanitizeOps: false, sanitizeResources: false },
      async fn() {
        const [agent, other] = agents();
        const options = { database: { url: database.url } };
        const first = await startServer(agent, options);
        const second = await startServer(other, options);
        try {
          await run({ first, second });
        } finally {
          await first[Symbol.asyncDispose]();
          await second[Symbol.asyncDispose]();
          await removePlace({ url: database.url, schema });
        }
      },
    });

  try {
    await step(
      "an input that comes to one is taken by the one that writes the session, and both show what happens",
      () => [{ model: scriptedModel([[{ text: "Hello." }], [{ text: "Again." }]]) }, {}],
      async ({ first, second }) => {
        await first.json("/v1/sessions", { body: { id: "a" }, status: 201 });
        await using stream = await EventStream.open(second, "a");
        const body = { text: "hi" };
        const sent = await second.json("/v1/sessions/a/inputs", {
          body,
          headers: { "idempotency-key": "k" },
          status: 202,
        });
        assertEquals(sent.repeated, false);
        await stream.event("turn/end");
        assertEquals(first.serving.counts().sessions, 1);
        assertEquals(second.serving.counts().sessions, 0);

        // The same again, here and there, is the same.
        for (const server of [second, first, second]) {
          const again = await server.json("/v1/sessions/a/inputs", {
            ...{ body, headers: { "idempotency-key": "k" }, status: 202 },
          });
          assertEquals(again, { ...sent, repeated: true });
        }
        for (const server of [first, second]) {
          const refused = await server.json("/v1/sessions/a/inputs", {
            ...{ body: { text: "other" }, headers: { "idempotency-key": "k" }, status: 422 },
          });
          assertEquals(refused.code, "IDEMPOTENCY_MISMATCH");
        }
        const page = await second.json("/v1/sessions/a/events");
        assertEquals(await first.json("/v1/sessions/a/events"), page);
        assertEquals(page.events.filter(({ type }: { type: string }) => type === "turn/end").length, 1);
        assertEquals(page.events[sent.seq].data.inserted[0].id, sent.messageId);
      },
    );

    await step(
      "an input that was said to the owner is known to the other one's desk",
      () => [{ model: scriptedModel([[{ text: "Hello." }]]) }, {}],
      async ({ first, second }) => {
        await first.json("/v1/sessions", { body: { id: "a" }, status: 201 });
        const init = { body: { text: "hi" }, headers: { "idempotency-key": "k" }, status: 202 };
        const sent = await first.json("/v1/sessions/a/inputs", init);
        assertEquals(await second.json("/v1/sessions/a/inputs", init), { ...sent, repeated: true });
        const refused = await second.json("/v1/sessions/a/inputs", {
          ...{ body: { text: "no" }, headers: { "idempotency-key": "k2" }, status: 202 },
        });
        assertEquals(refused.repeated, false);
      },
    );

    await step(
      "a question is shown by both and answered through either",
      () => {
        const { tool } = payTool();
        return [{ tools: [tool], model: scriptedModel([payStep(), [{ text: "Done." }]]) }, {}];
      },
      async ({ first, second }) => {
        await first.json("/v1/sessions", { body: { id: "a" }, status: 201 });
        await using stream = await EventStream.open(second, "a");
        await second.json("/v1/sessions/a/inputs", { body: { text: "pay" }, status: 202 });
        await stream.event("approval/bound");
        const { questions: [asked] } = await second.json("/v1/sessions/a/approvals");
        const { questions: [own] } = await first.json("/v1/sessions/a/approvals");
        const { askedAt: _, ...wanted } = own;
        const { askedAt: __, ...shown } = asked;
        assertEquals(shown, wanted);

        const path = `/v1/sessions/a/approvals/${asked.id}`;
        const wrong = { decision: "allowed-once", argumentsDigest: "0".repeat(64) };
        assertEquals((await second.json(path, { body: wrong, status: 422 })).code, "ARGUMENTS_CHANGED");
        const decision = { decision: "allowed-once", argumentsDigest: asked.argumentsDigest };
        const decided = await second.json(path, { body: decision });
        assertEquals(decided.outcome, "allowed-once");
        await stream.event("turn/end");
        for (const server of [first, second]) {
          const again = await server.json(path, { body: decision });
          assertEquals([again.outcome, again.seq, again.already], ["allowed-once", decided.seq, true]);
          const late = await server.json(path, { body: { ...decision, decision: "rejected" }, status: 409 });
          assertEquals(late.code, "ALREADY_DECIDED");
        }
        assertEquals((await second.json("/v1/sessions/a/approvals")).questions, []);
        const page = await second.json("/v1/sessions/a/events");
        assertEquals(page.events[decided.seq].type, "approval/decided");
        assert(page.events.some(({ type }: { type: string }) => type === "effect/dispatched"));
      },
    );

    await step(
      "a turn is cancelled through the other one",
      () => [{ model: scriptedModel([[{ text: "Hm" }, { hang: true }]]) }, {}],
      async ({ first, second }) => {
        await first.json("/v1/sessions", { body: { id: "a" }, status: 201 });
        assertEquals(await second.json("/v1/sessions/a/cancel", { body: {}, status: 202 }), { status: "idle" });
        await using stream = await EventStream.open(second, "a");
        await second.json("/v1/sessions/a/inputs", { body: { text: "hi" }, status: 202 });
        await stream.event("request/header");
        assertEquals(await second.json("/v1/sessions/a/cancel", { body: {}, status: 202 }), { status: "running" });
        const end = await stream.event("turn/end");
        assertEquals(end.data.reason.kind, "aborted");
      },
    );

    await step(
      "when the owner goes down the other one takes over, and what was said meanwhile is done",
      () => [
        { model: scriptedModel([[{ text: "One." }]]) },
        { model: scriptedModel([[{ text: "Two." }]]) },
      ],
      async ({ first, second }) => {
        await first.json("/v1/sessions", { body: { id: "a" }, status: 201 });
        await using stream = await EventStream.open(second, "a");
        await second.json("/v1/sessions/a/inputs", { body: { text: "one" }, status: 202 });
        await stream.event("turn/end");
        await first.serving.shutdown(0);
        await second.json("/v1/sessions/a/inputs", { body: { text: "two" }, status: 202 });
        await stream.event("turn/end");
        assertEquals(second.serving.counts().sessions, 1);
      },
    );
  } finally {
    await database.stop();
  }
});
