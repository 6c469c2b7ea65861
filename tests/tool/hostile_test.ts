/**
 * Every phase of a call, with a stranger in it that throws, hangs, is late or answers nonsense.
 *
 * Whatever it does: the call is answered exactly once, observers are told once, no body runs without a durable marker or after
 * the answer, and no body of a call that needs approval runs without a logged grant.
 */
import { assert, assertEquals } from "@std/assert";
import { isEvent } from "../../src/event/mod.ts";
import { type Guard, type Permission, type ToolDefinition, ToolError } from "../../src/tool/mod.ts";
import { type CallEnd, executionMode, type PipelineContext } from "../../src/tool/pipeline.ts";
import type { StandardSchema } from "../../src/tool/standard_schema.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { checkPromises, eventsOf, newHooks, openStep, run, tool } from "./tool_support.ts";

/** A stranger: what it does when it is called. `honest` is what it should have answered. */
type Stranger = (honest: () => unknown, signal: AbortSignal) => unknown;

const hostileValue = new Proxy({}, {
  get() {
    throw new Error("a trap");
  },
  getPrototypeOf() {
    throw new Error("a trap");
  },
  ownKeys() {
    throw new Error("a trap");
  },
});

function thrower(value: unknown): Stranger {
  return () => {
    throw value;
  };
}

const STRANGERS: Readonly<Record<string, Stranger>> = {
  "throws an error": thrower(new Error("broke")),
  "throws a coded error": thrower(new ToolError("CODED", "broke")),
  "throws nothing": thrower(undefined),
  "throws a proxy full of traps": thrower(hostileValue),
  "throws an error whose message throws": thrower(
    Object.defineProperty(new Error(), "message", {
      get() {
        throw new Error("a trap");
      },
    }),
  ),
  "rejects": () => Promise.reject(new Error("broke")),
  "never answers": () => new Promise(() => {}),
  "is a thenable that throws": () => ({
    get then() {
      throw new Error("a trap");
    },
  }),
  "is a thenable that never calls": () => ({ then() {} }),
  "is late: answers long after the cancel": async (honest, signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    for (let count = 0; count < 20; count++) await settle();
    return honest();
  },
  "answers in the same breath as the cancel": async (honest, signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return honest();
  },
  "answers undefined": () => undefined,
  "answers null": () => null,
  "answers a number": () => 7,
  "answers a text": () => "text",
  "answers an empty object": () => ({}),
  "answers a proxy full of traps": () => hostileValue,
  "answers a function": () => () => "allow",
  "answers allow, accept, success and allowed-once in one": () => ({
    kind: "allow",
    decision: "allow",
    isError: false,
    content: "x",
    value: 1,
  }),
};

interface Setting {
  readonly definition: Partial<ToolDefinition>;
  readonly context: Partial<PipelineContext>;
}

type Place = (stranger: () => (honest: () => unknown) => unknown) => Setting;

const ASK = { permission: (): Permission => ({ decision: "ask" }) };
const yes = () => "allowed-once" as const;

function withHooks(register: (hooks: ReturnType<typeof newHooks>) => void): Partial<PipelineContext> {
  const hooks = newHooks();
  register(hooks);
  return { hooks, approvers: [yes] };
}

/** A validator whose check is the stranger. */
function validator(check: (honest: () => unknown) => unknown): StandardSchema {
  const validate = (value: unknown) => check(() => ({ value })) as never;
  const written = () => ({});
  return { "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input: written, output: written } } };
}

const PLACES: Readonly<Record<string, Place>> = {
  "a pre-execute listener": (stranger) => ({
    definition: ASK,
    context: withHooks((hooks) => hooks.on("tools/pre-execute", (_, next) => stranger()(next) as never)),
  }),
  "a wrapper": (stranger) => ({
    definition: ASK,
    context: withHooks((hooks) => hooks.on("tools/execute", (_, next) => stranger()(next) as never)),
  }),
  "a wrapper after its body": (stranger) => ({
    definition: ASK,
    context: withHooks((hooks) =>
      hooks.on("tools/execute", async (_, next) => {
        const outcome = await next();
        return await stranger()(() => outcome) as never;
      })
    ),
  }),
  "a wrapper that does not wait for its body": (stranger) => ({
    definition: ASK,
    context: withHooks((hooks) =>
      hooks.on("tools/execute", (_, next) => {
        const outcome = next();
        return stranger()(() => outcome) as never;
      })
    ),
  }),
  "a post-execute listener": (stranger) => ({
    definition: ASK,
    context: withHooks((hooks) => hooks.on("tools/post-execute", (_, __, next) => stranger()(next) as never)),
  }),
  "a result observer": (stranger) => ({
    definition: ASK,
    context: withHooks((hooks) => hooks.on("tools/result", () => stranger()(() => undefined), { prepend: true })),
  }),
  "an approval listener": (stranger) => ({
    definition: ASK,
    context: withHooks((hooks) => hooks.on("approval/request", (_, __, next) => stranger()(next) as never)),
  }),
  "an approver": (stranger) => ({
    definition: ASK,
    context: { hooks: newHooks(), approvers: [() => stranger()(yes) as never] },
  }),
  "a guard": (stranger) => ({
    definition: ASK,
    context: { hooks: newHooks(), approvers: [yes], guards: [(() => stranger()(() => undefined)) as Guard] },
  }),
  "the tool's permission": (stranger) => ({
    definition: { permission: () => stranger()(() => ({ decision: "ask" })) as never },
    context: { hooks: newHooks(), approvers: [yes] },
  }),
  "the tool's effect": (stranger) => ({
    definition: { ...ASK, effect: () => stranger()(() => "opaque") as never },
    context: { hooks: newHooks(), approvers: [yes] },
  }),
  "the check of the arguments": (stranger) => ({
    definition: { ...ASK, parameters: validator((honest) => stranger()(honest)) as never },
    context: { hooks: newHooks(), approvers: [yes] },
  }),
  "the check of the output": (stranger) => ({
    definition: {
      ...ASK,
      output: { schema: validator((honest) => stranger()(honest)), render: () => "rendered" } as never,
    },
    context: { hooks: newHooks(), approvers: [yes] },
  }),
  "the renderer": (stranger) => ({
    definition: { ...ASK, output: { schema: {}, render: () => stranger()(() => "rendered") } as never },
    context: { hooks: newHooks(), approvers: [yes] },
  }),
  "the presentation": (stranger) => ({
    definition: {
      ...ASK,
      output: { schema: {}, render: () => "rendered", presentationMeta: () => stranger()(() => ({})) } as never,
    },
    context: { hooks: newHooks(), approvers: [yes] },
  }),
  "finalizeContent": (stranger) => ({
    definition: { ...ASK, finalizeContent: () => stranger()(() => "final") as never },
    context: { hooks: newHooks(), approvers: [yes] },
  }),
  "whoever watches bodies": (stranger) => ({
    definition: ASK,
    context: { hooks: newHooks(), approvers: [yes], onBody: () => stranger()(() => undefined) as never },
  }),
  "the log of nested calls": (stranger) => ({
    definition: {
      ...ASK,
      execute: async (_, call) => (await call.dispatch("inner", {}), "done"),
    },
    context: withHooks((hooks) => hooks.on("tools/ptc-dispatch-log", (_, next) => stranger()(next) as never)),
  }),
};

for (const [place, set] of Object.entries(PLACES)) {
  for (const isCancelled of [true, false]) {
    Deno.test(`${place}, ${isCancelled ? "cancelled" : "not cancelled"}: whatever it does, the call keeps its promises`, async () => {
      for (const [name, stranger] of Object.entries(STRANGERS)) {
        const mayWait = /never|late|breath/.test(name);
        if (mayWait && !isCancelled) continue;
        await keepsPromises(`${place} ${name}`, set, stranger, isCancelled);
      }
    });
  }
}

async function keepsPromises(what: string, set: Place, stranger: Stranger, isCancelled: boolean): Promise<void> {
  const clock = new FakeClock();
  const { store, session } = await openStep({ clock });
  const controller = new AbortController();
  const { signal } = controller;
  const { definition, context } = set(() => (honest) => stranger(honest, signal));
  let isAnswered = false;
  const bodies: string[] = [];
  const execute = definition.execute ?? (() => "done");
  const act = tool({
    ...definition,
    execute: (args, call) => {
      bodies.push(call.callId);
      assert(!isAnswered, `${what}: a body after the answer`);
      const durable = store.events("s1");
      const marker = durable.find((event) =>
        isEvent(event, "effect/dispatched") && event.data.callSeq === call.callSeq
      );
      assert(marker !== undefined, `${what}: a body without a durable marker`);
      const grant = durable.find((event) =>
        isEvent(event, "approval/decided") && event.data.outcome === "allowed-once"
      );
      const needsGrant = context.hooks?.count("tools/pre-execute") === 0 && definition.permission === ASK.permission;
      assert(!needsGrant || (grant !== undefined && grant.seq < marker.seq), `${what}: a body without a logged grant`);
      return execute(args, call);
    },
  });
  let told = 0;
  context.hooks!.on("tools/result", ({ callId }) => callId === "c1" ? void told++ : undefined);
  const inner = tool({ name: "inner", effect: "none" });
  const done = run(session, [act, inner], { id: "c1" }, { ...context, signal });
  const end = await ended(done, clock, isCancelled ? controller : null);
  isAnswered = true;
  assert(end !== null, `${what}: no end`);
  assertEquals(told, 1, what);
  await checkPromises(session);
  const results = (await eventsOf(session)).filter(({ type }) => type === "tool/result");
  assertEquals(results.length, 1, what);
  // Whoever was late finds the call answered.
  for (let count = 0; count < 4; count++) await clock.advance(1000);
  assertEquals((await eventsOf(session)).at(-1)?.type, "tool/result", what);
  await session.close();
}

/** Waits, in steps: bodies and digests need turns of the task queue, and hangs need the clock. `null` when it never ends. */
async function ended(done: Promise<CallEnd>, clock: FakeClock, controller: AbortController | null) {
  let end: CallEnd | null = null;
  void done.then((found) => end = found);
  for (let tries = 0; tries < 3 && end === null; tries++) await settleDigests();
  controller?.abort(new Error("enough"));
  for (let tries = 0; tries < 20 && end === null; tries++) {
    await settleDigests();
    await clock.advance(500);
  }
  return end;
}

/** Digests are made outside of the task queue: one of ours comes back after those that were asked for before. */
async function settleDigests(): Promise<void> {
  await crypto.subtle.digest("SHA-256", new Uint8Array(1));
  await settle();
}

Deno.test("executionMode() is exclusive, whatever a classifier does", () => {
  for (const [name, stranger] of Object.entries(STRANGERS)) {
    const signal = new AbortController().signal;
    const act = tool({ isConcurrencySafe: () => stranger(() => true, signal) as never });
    assertEquals(executionMode(act, {}), "exclusive", name);
  }
});
