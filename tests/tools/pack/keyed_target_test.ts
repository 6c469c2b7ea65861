import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { outcomeUnknown, type ToolError } from "../../../src/tool/mod.ts";
import { httpTarget, keyedTool, type OrderAnswer, payTool, sendMailTool } from "../../../src/tools/pack/mod.ts";
import { bodyCall } from "../../tool/tool_support.ts";
import { STAGES } from "./pack_support.ts";

const { signal } = new AbortController();

for (const [name, stage] of Object.entries(STAGES)) {
  Deno.test(`${name}: a key that was used twice has one effect, and closing it says that it is done`, async () => {
    await using on = await stage();
    assertEquals(await on.effects(), 0);
    const first = await on.target.perform("k1", on.order, signal);
    assertEquals(first.state, "done");
    assertEquals(await on.target.perform("k1", on.order, signal), first);
    assertEquals<unknown>(await on.target.close("k1", on.order, signal), first);
    assertEquals(await on.effects(), 1);
  });

  Deno.test(`${name}: a request that finds its key closed is refused for ever`, async () => {
    await using on = await stage();
    assertEquals(await on.target.close("k1", on.order, signal), { state: "closed" });
    assertEquals(await on.target.perform("k1", on.order, signal), { state: "closed" });
    assertEquals(await on.target.close("k1", on.order, signal), { state: "closed" });
    assertEquals(await on.target.perform("k1", on.order, signal), { state: "closed" });
    assertEquals(await on.effects(), 0);
    assertEquals((await on.target.perform("k2", on.order, signal)).state, "done", "another key is another effect");
    assertEquals(await on.effects(), 1);
  });

  Deno.test(`${name}: of an order and a closing at the same time one wins, and both say so`, async () => {
    for (let n = 0; n < 6; n++) {
      await using on = await stage();
      const both = n % 2 === 0
        ? [on.target.perform("k", on.order, signal), on.target.close("k", on.order, signal)]
        : [on.target.close("k", on.order, signal), on.target.perform("k", on.order, signal)];
      const [one, other] = await Promise.all(both) as [OrderAnswer, OrderAnswer];
      assertEquals(one, other);
      assertEquals(await on.effects(), one.state === "done" ? 1 : 0);
    }
  });
}

Deno.test("keyedTool() reads every answer: done, refused, closed, and none at all", async () => {
  const answering = (answer: () => Promise<OrderAnswer>) =>
    keyedTool({
      name: "act",
      description: "",
      parameters: {},
      reason: () => "act",
      target: { perform: answer, close: () => Promise.resolve({ state: "unknown" }) },
    });
  const run = async (answer: OrderAnswer) => await answering(() => Promise.resolve(answer)).execute({}, bodyCall());
  const codeOf = async (act: () => Promise<unknown>) => (await assertRejects(act, Error) as ToolError).code;
  assertEquals(await run({ state: "done", receipt: "r" }), "r");
  assertEquals(await codeOf(() => run({ state: "refused", reason: "no money" })), "REFUSED_BY_TARGET");
  assertEquals(await codeOf(() => run({ state: "closed" })), "TOOL_NOT_STARTED");
  const failing = (error: unknown) =>
    codeOf(async () => {
      await answering(() => Promise.reject(error)).execute({}, bodyCall());
    });
  assertEquals(await failing(new TypeError("connection reset")), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(await failing(outcomeUnknown("x")), "TOOL_OUTCOME_UNKNOWN");
  const lookup = { effectKey: "k", args: {}, effect: "keyed", callSeq: 1, signal } as const;
  const found = await answering(() => run({ state: "closed" }) as never).reconcile!(lookup);
  assertEquals((found as { verdict: string }).verdict, "undecidable");
});

Deno.test("what a person is asked names the order", () => {
  const nobody = { perform: () => Promise.reject(), close: () => Promise.reject() };
  const pay = payTool(nobody).permissionFor({ to: "alice", amount: 10 }, "keyed");
  assertEquals(pay, { decision: "ask", reason: 'pay 10 to "alice"' });
  const mail = sendMailTool(nobody).permissionFor({ to: "a@b.example", subject: "hi", text: "x" }, "keyed");
  assertEquals(mail, { decision: "ask", reason: 'send mail to "a@b.example": "hi"' });
});

Deno.test("httpTarget() believes only answers of such a target: a stranger's page leaves it open", async () => {
  const from = (status: number, body: string) => {
    const answering: typeof fetch = () => Promise.resolve(new Response(body, { status }));
    return httpTarget<unknown>({ url: "http://bank.example/", fetch: answering });
  };
  const strange = [[200, "<html>"], [200, '{"state":"closed"}'], [409, "{}"], [502, ""], [204, ""], [301, ""], [
    200,
    "7",
  ]];
  for (const [status, body] of strange) {
    const init = status === 204 ? null : body as string;
    const answering: typeof fetch = () => Promise.resolve(new Response(init, { status: status as number }));
    const target = httpTarget<unknown>({ url: "http://bank.example/", fetch: answering });
    await assertRejects(() => target.close("k", {}, signal), Error, "the target answered");
    await assertRejects(() => target.perform("k", {}, signal), Error, "the target answered");
  }
  assertEquals(await from(422, '{"reason":"no money"}').perform("k", {}, signal), {
    state: "refused",
    reason: "no money",
  });
  await assertRejects(() => from(422, '{"reason":"no"}').close("k", {}, signal), Error, "a question");
  const error = await assertRejects(() => from(404, "").perform("k", {}, signal), Error);
  assertStringIncludes((error as ToolError).code, "REFUSED_BY_TARGET");
});
