import { assert, assertStrictEquals } from "@std/assert";
import { type JsonValue, KNOWN_TYPES, OWN_TYPES, shapeProblem } from "../../src/event/mod.ts";
import { type Sample, sample, samples } from "./samples.ts";

/** The problem of a sample after a change of its plain JSON. */
// deno-lint-ignore no-explicit-any -- the point is to break the shape
function problemOf(type: string, change: (event: any) => void): string | null {
  const event = JSON.parse(JSON.stringify({ seq: 20, ...sample(type) }));
  change(event);
  return shapeProblem(event);
}

Deno.test("shapeProblem() finds nothing wrong with a sample of every checked type", () => {
  for (const event of samples) assertStrictEquals(shapeProblem({ seq: 20, ...event }), null, event.type);
});

Deno.test("shapeProblem() wants a surfaceOp on the surface and nothing of the kind elsewhere", () => {
  for (const event of samples.filter(({ type }) => KNOWN_TYPES.has(type) || OWN_TYPES.has(type))) {
    if (event.surfaceOp === undefined) {
      const problem = shapeProblem({ seq: 20, ...event, surfaceOp: "append" });
      assertStrictEquals(problem, "a surfaceOp on an event that is never on the surface");
      const sources = shapeProblem({ seq: 20, ...event, sourceEventSeqs: [1] });
      assertStrictEquals(sources, "sourceEventSeqs on an event that is never on the surface");
    } else {
      const problem = shapeProblem({ seq: 20, ...event, surfaceOp: undefined });
      assertStrictEquals(problem, "no surfaceOp on an event of the surface");
    }
  }
  assertStrictEquals(
    problemOf("assistant/message", (event) => event.sourceEventSeqs = [1]),
    "sourceEventSeqs on an assistant/message",
  );
});

Deno.test("shapeProblem() wants replaced events before the event itself", () => {
  const op = { op: "replace", startSeq: 20, endSeq: 3 };
  assertStrictEquals(
    problemOf("user/message", (event) => event.surfaceOp = op),
    "a replacement of 20 to 3, which is not before the event itself",
  );
  assertStrictEquals(
    problemOf("user/message", (event) => event.surfaceOp = { ...op, startSeq: 3, endSeq: 21 }),
    "a replacement of 3 to 21, which is not before the event itself",
  );
});

Deno.test("shapeProblem() wants an object as data of every type it knows", () => {
  for (const type of [...KNOWN_TYPES, ...OWN_TYPES]) {
    for (const data of [null, [], "x", 1]) {
      const problem = shapeProblem({ type, seq: 1, data, ignorable: true });
      assert(problem?.startsWith("data = "), type);
    }
  }
  assertStrictEquals(shapeProblem({ type: "future/thing", seq: 1, data: null }), null);
});

Deno.test("shapeProblem() wants ignorable: true on our own events", () => {
  for (const type of OWN_TYPES) {
    const problem = problemOf(type, (event) => delete event.ignorable);
    assertStrictEquals(problem, "ignorable = nothing, expected true");
  }
});

/** Members that may be absent, by the path of the object that holds them. Everything else in a sample is required. */
const OPTIONAL: ReadonlySet<string> = new Set([
  "usage",
  "interrupted",
  "meta",
  "error",
  "callId",
  "reason",
  "source",
  "sourceCommandId",
  "maxTokens",
  "rawOutput",
  "llmStreamCall",
  "reasoningEffort",
  "temperature",
  "stop",
  "adapterDefaults",
  "tools",
  "startsSeries",
  "contextWindow",
  "systemPromptUpdate",
  "inherited",
  "removedCount",
  "outcome",
  "retryOf",
  "encoding",
  "content",
  "note",
]);

/** Optional in some places and required in these. */
const REQUIRED_HERE: ReadonlySet<string> = new Set([
  "tool/call data.callId",
  "approval/decided data.outcome",
  "effect/dispatched data.callId",
  "effect/reconciled data.callId",
  "user/message data.content",
  "user/message data.source",
  "request/header data.reason",
  "turn/end data.reason",
  "turn/end data.reason.error",
  "turn/end data.reason.reason",
  "turn/end data.reason.reason.reason",
  "log/salvaged data.source",
  "result/spilled data.callId",
]);

Deno.test("shapeProblem() misses every required member of data, and allows every optional one to be absent", () => {
  let required = 0;
  for (const event of samples.filter((candidate) => shapeIsChecked(candidate))) {
    for (const key of Object.keys(event.data as object)) {
      const data = { ...event.data as Record<string, JsonValue> };
      delete data[key];
      const problem = shapeProblem({ seq: 20, ...event, data });
      const isRequired = !OPTIONAL.has(key) || REQUIRED_HERE.has(`${event.type} data.${key}`);
      // A marker of a model call needs the output that the call gave.
      const isNeeded = event.type === "compaction/summary" && key === "rawOutput";
      assertStrictEquals(problem !== null, isRequired || isNeeded, `${event.type} without ${key}: ${problem}`);
      if (isRequired) required++;
    }
  }
  assert(required > 80, String(required));
});

Deno.test("shapeProblem() refuses every member of data with a value of another type", () => {
  let changes = 0;
  for (const event of samples.filter((candidate) => shapeIsChecked(candidate))) {
    for (const [key, value] of Object.entries(event.data as Record<string, JsonValue>)) {
      if (key === "meta") continue;
      for (const other of [null, 1.5, "?", true, {}, [1], -1]) {
        if (typeof other === typeof value && typeof value === "string") continue;
        if (value === null && other === null) continue;
        const data = { ...event.data as Record<string, JsonValue>, [key]: other } as JsonValue;
        // null is the turn of a compaction that stands between turns; true is what the markers hold.
        if (event.type.startsWith("compaction/") && key === "turn" && other === null) continue;
        if (value === true && other === true) continue;
        const problem = shapeProblem({ seq: 20, ...event, data });
        assert(problem !== null, `${event.type} with ${key} = ${JSON.stringify(other)}`);
        changes++;
      }
    }
  }
  assert(changes > 500, String(changes));
});

function shapeIsChecked(event: Sample): boolean {
  return event.type !== "session/title" && event.type !== "custom/thing";
}

Deno.test("shapeProblem() says what is wrong with a message", () => {
  // deno-lint-ignore no-explicit-any -- the point is to break the shape
  const cases: [(data: any) => void, string][] = [
    [(data) => data.id = "", 'data.id = "", expected a non-empty string'],
    [(data) => data.role = "assistant", 'data.role = "assistant", expected "user"'],
    [(data) => data.extra = 1, 'the unknown field "extra" in data'],
    [(data) => data.source = { kind: "" }, 'data.source.kind = "", expected a non-empty string'],
    [(data) => data.source = { kind: "plugin" }, "data.source.plugin = nothing, expected a string"],
    [(data) => data.content = [null], "data.content[0] = null, expected a block"],
    [(data) => data.content = [{}], "data.content[0].type = nothing, expected a non-empty string"],
    [(data) => data.content = [{ type: "text" }], "data.content[0].text = nothing, expected a string"],
    [(data) => data.content = [{ type: "reasoning", text: 1 }], "data.content[0].text = 1, expected a string"],
    [(data) => data.content = [{ type: "image" }], "data.content[0].attachment = nothing, expected an attachment"],
    [
      (data) => data.content = [{ type: "tool-call", id: "c", name: "n", arguments: {} }],
      "data.content[0].arguments = an object, expected a string",
    ],
    [
      (data) => data.content = [{ type: "tool-result", toolCallId: "c", content: [{ type: "text" }] }],
      "data.content[0].content[0].text = nothing, expected a string",
    ],
    [
      (data) => data.content = [{ type: "tool-result", toolCallId: "c", content: [], isError: 1 }],
      "data.content[0].isError = 1, expected a boolean",
    ],
  ];
  for (const [change, problem] of cases) {
    assertStrictEquals(problemOf("user/message", (event) => change(event.data)), problem);
  }
});

Deno.test("shapeProblem() takes a bounded depth of results within results", () => {
  let content: unknown[] = [];
  for (let level = 0; level < 100_000; level++) content = [{ type: "tool-result", toolCallId: "c", content }];
  const event = {
    ...sample("user/message"),
    seq: 20,
    data: { id: "m", role: "user", content, source: { kind: "user" } },
  };
  assertStrictEquals(shapeProblem(event), "results nested deeper than 1000 levels");
});

Deno.test("shapeProblem() wants a model as the source of an assistant/message", () => {
  assertStrictEquals(
    problemOf("assistant/message", (event) => event.data.message.source = { kind: "user" }),
    'data.message.source.kind = "user", expected "model"',
  );
  assertStrictEquals(
    problemOf("assistant/message", (event) => delete event.data.message.source.model),
    "data.message.source.model = nothing, expected a string",
  );
});

Deno.test("shapeProblem() ties a tool/result to its one call", () => {
  // deno-lint-ignore no-explicit-any -- the point is to break the shape
  const cases: [(data: any) => void, string][] = [
    [(data) => data.message.source = { kind: "user" }, 'data.message.source.kind = "user", expected "tool"'],
    [(data) => data.message.content = [], "data.message.content without exactly one tool-result"],
    [
      (data) => data.message.content.push(data.message.content[0]),
      "data.message.content without exactly one tool-result",
    ],
    [
      (data) => data.message.content = [{ type: "text", text: "" }],
      "data.message.content without exactly one tool-result",
    ],
    [
      (data) => data.message.content[0].toolCallId = "c2",
      'data.message.content[0].toolCallId = "c2", expected the callId of the source',
    ],
    [(data) => data.message.content[0].isError = false, "a data.error on a result that is not isError"],
    [(data) => delete data.message.content[0].isError, "a data.error on a result that is not isError"],
    [(data) => delete data.error.code, "data.error = an object, expected a name and a code"],
    [(data) => data.error = null, "data.error = null, expected a name and a code"],
  ];
  for (const [change, problem] of cases) {
    assertStrictEquals(problemOf("tool/result", (event) => change(event.data)), problem);
  }
});

Deno.test("shapeProblem() says what is wrong with a reason, a failure and a usage", () => {
  // deno-lint-ignore no-explicit-any -- the point is to break the shape
  const cases: [string, (data: any) => void, string][] = [
    ["turn/end", (data) => data.reason = {}, "data.reason = an object, expected a reason with a kind"],
    ["turn/end", (data) => data.reason = { kind: "error" }, "data.reason.error = nothing, expected a failure"],
    [
      "turn/end",
      (data) => data.reason = { kind: "error", error: { message: "" } },
      "data.reason.error.code = nothing, expected a string",
    ],
    [
      "turn/end",
      (data) => data.reason = { kind: "error", error: { message: "", code: "", status: 600 } },
      "data.reason.error.status = 600, expected a status from 100 to 599",
    ],
    [
      "turn/end",
      (data) => data.reason = { kind: "error", error: { message: "", code: "", providerRetryAfterMs: 0 } },
      "data.reason.error.providerRetryAfterMs = 0, expected milliseconds above 0",
    ],
    [
      "turn/end",
      (data) => data.reason = { kind: "aborted" },
      "data.reason.reason = nothing, expected a cause with a kind",
    ],
    [
      "turn/end",
      (data) => data.reason = { kind: "aborted", reason: { kind: "hook" } },
      "data.reason.reason.reason = nothing, expected a string",
    ],
    [
      "assistant/message",
      (data) => data.usage.reasoningTokens = -1,
      "data.usage.reasoningTokens = -1, expected a count",
    ],
    ["assistant/message", (data) => data.interrupted = false, "data.interrupted = false, expected true"],
  ];
  for (const [type, change, problem] of cases) {
    assertStrictEquals(problemOf(type, (event) => change(event.data)), problem);
  }
});

Deno.test("shapeProblem() says what is wrong with an embedded stream", () => {
  const bad: [unknown, string][] = [
    [null, "a stream record = null, expected an object"],
    [{ type: "future" }, 'type = "future", expected a type of stream record'],
    [{ type: "text-chunks", time0: 1.5, index: 0, dt: [], texts: ["a"] }, "time0 = 1.5, expected an integer"],
    [{ type: "text-chunks", time0: 1, index: -1, dt: [], texts: ["a"] }, "index = -1, expected a count"],
    [
      { type: "text-chunks", time0: 1, index: 0, dt: [], texts: [] },
      "texts = an array of 0, expected a non-empty list",
    ],
    [
      { type: "text-chunks", time0: 1, index: 0, dt: [], texts: ["a", "b"] },
      "dt = an array of 0, expected a list of 1",
    ],
    [{ type: "text-chunks", time0: 1, index: 0, dt: [1], texts: ["a"] }, "dt = an array of 1, expected a list of 0"],
    [{ type: "text-chunks", time0: 1, index: 0, dt: [0.5], texts: ["a", "b"] }, "dt[0] = 0.5, expected an integer"],
    [
      { type: "text-chunks", time0: Number.MAX_SAFE_INTEGER, index: 0, dt: [1], texts: ["a", "b"] },
      "dt[0] = 1, expected a gap to a safe time",
    ],
    [{ type: "reasoning-chunks", time0: 1, index: 0, dt: [], texts: [1] }, "texts[0] = 1, expected a string"],
    [{ type: "tool-call-chunks", time0: 1, index: 0, dt: [], args: ["a"] }, "id = nothing, expected a string"],
    [
      { type: "tool-call-chunks", time0: 1, index: 0, dt: [], id: "", name: 1, args: ["a"] },
      "name = 1, expected a string",
    ],
    [{ type: "tool-call-chunks", time0: 1, index: 0, dt: [], id: "", texts: ["a"] }, "args = nothing, expected"],
    [{ type: "chunk", chunk: { type: "usage" } }, "time = nothing, expected an integer"],
    [{ type: "chunk", time: 1 }, "chunk = nothing, expected an object"],
    [{ type: "chunk", time: 1, chunk: {} }, "chunk.type = nothing, expected a non-empty string"],
    [{ type: "chunk", time: 1, chunk: { type: "block-start", index: 0 } }, "chunk.blockType = nothing, expected"],
    [{ type: "chunk", time: 1, chunk: { type: "text-delta", text: "a" } }, "chunk.index = nothing, expected a count"],
    [{ type: "chunk", time: 1, chunk: { type: "text-delta", index: 0 } }, "chunk.text = nothing, expected a string"],
    [{ type: "chunk", time: 1, chunk: { type: "tool-call-delta", index: 0 } }, "chunk.id = nothing, expected a string"],
    [{ type: "chunk", time: 1, chunk: { type: "block-end", index: 0 } }, "chunk.block[0] = nothing, expected a block"],
    [{ type: "chunk", time: 1, chunk: { type: "usage", usage: {} } }, "chunk.usage.inputTokens = nothing, expected"],
    [{ type: "chunk", time: 1, chunk: { type: "finish" } }, "chunk.reason = nothing, expected a reason with a kind"],
    [
      { type: "chunk", time: 1, chunk: { type: "finish", reason: { kind: "error" } } },
      "chunk.reason.failure = nothing",
    ],
  ];
  for (const [record, message] of bad) {
    for (const type of ["assistant/message", "assistant/attempt"]) {
      const problem = problemOf(type, (event) => event.data.stream.unshift(record));
      assert(problem?.startsWith(message) && problem.endsWith("(data.stream[0])"), `${problem}`);
    }
  }
});

Deno.test("shapeProblem() says what is wrong with a request header", () => {
  const path = "data.header.adapterDefaults";
  // deno-lint-ignore no-explicit-any -- the point is to break the shape
  const cases: [(header: any) => void, string][] = [
    [(header) => header.system = "x", "data.header.system, which this version keeps in a system/message"],
    [(header) => header.tools = [], "an empty data.header.tools"],
    [
      (header) => header.tools = [{ name: "a" }],
      "data.description = nothing, expected a string (in data.header.tools)",
    ],
    [
      (header) => header.tools[0].parameters = [],
      "data.header.tools[].parameters = an array of 0, expected an object",
    ],
    [(header) => header.adapterDefaults = {}, `an empty ${path}`],
    [(header) => header.adapterDefaults = { maxTokens: false }, `${path}.maxTokens = false, expected true`],
    [(header) => header.adapterDefaults = { stop: true }, `the unknown field "stop" in ${path}`],
    [(header) => delete header.config.maxTokens, `${path}.maxTokens without a value in the config`],
    [(header) => delete header.config.model, "data.model = nothing, expected a string (in data.header.config)"],
    [(header) => header.config.temperature = "hot", 'data.header.config.temperature = "hot", expected a number'],
    [(header) => header.config.stop = [1], "data.header.config.stop = an array of 1, expected a list of strings"],
  ];
  for (const [change, problem] of cases) {
    assertStrictEquals(problemOf("request/header", (event) => change(event.data.header)), problem);
  }
  assertStrictEquals(
    problemOf("request/header", (event) => event.data.reason = "fallback"),
    'data.reason = "fallback", expected one of initial, resume, change, series',
  );
});

Deno.test("shapeProblem() ties a compaction's range to its list", () => {
  assertStrictEquals(
    problemOf("compaction/prune", (event) => event.data.shadowedSeqs = [3, 7]),
    "data.shadowedSeqs from 3 to 7 in a range from 7 to 3",
  );
  assertStrictEquals(
    problemOf("compaction/summary", (event) => event.data.shadowedSeqs = []),
    "data.shadowedSeqs = an array of 0, expected a non-empty list of seqs",
  );
  assertStrictEquals(
    problemOf("compaction/summary", (event) => delete event.data.rawOutput),
    "a data.llmStreamCall without data.rawOutput",
  );
});

Deno.test("shapeProblem() refuses an own event that another meaning could hide in", () => {
  // deno-lint-ignore no-explicit-any -- the point is to break the shape
  const cases: [string, (data: any) => void, string][] = [
    ["checkpoint/policy", (data) => data.version = 2, "data.version = 2, expected 1"],
    ["checkpoint/policy", (data) => data.barriers.push("disk"), 'data.barriers = "disk", expected a barrier'],
    ["checkpoint/policy", (data) => data.marker = false, "data.marker = false, expected true"],
    ["effect/dispatched", (data) => data.effect = "safe", 'data.effect = "safe", expected an effect class'],
    ["effect/dispatched", (data) => data.effectKey = "", 'data.effectKey = "", expected 32 lower-case hex digits'],
    [
      "effect/dispatched",
      (data) => data.effectKey = "0123456789ABCDEF0123456789ABCDEF",
      'data.effectKey = "0123456789ABCDEF0123456789ABCDEF", expected 32 lower-case hex digits',
    ],
    ["effect/reconciled", (data) => data.verdict = "maybe", 'data.verdict = "maybe", expected a verdict'],
    ["effect/reconciled", (data) => data.by = "model", 'data.by = "model", expected "lookup" or "person"'],
    [
      "effect/reconciled",
      (data) => data.content = [{}],
      "data.content[0].type = nothing, expected a non-empty string",
    ],
    [
      "approval/bound",
      (data) => data.argumentsDigest = "ab",
      'data.argumentsDigest = "ab", expected 64 lower-case hex digits',
    ],
    ["call/renamed", (data) => data.index = -1, "data.index = -1, expected a count"],
    ["result/spilled", (data) => data.digest = "ab", 'data.digest = "ab", expected 64 lower-case hex digits'],
    ["result/spilled", (data) => data.encoding = "gzip", 'data.encoding = "gzip", expected "json"'],
    ["log/salvaged", (data) => data.kept = [[1]], "data.kept = an array of 1, expected a list of ranges"],
  ];
  for (const [type, change, problem] of cases) {
    assertStrictEquals(problemOf(type, (event) => change(event.data)), problem);
  }
});

Deno.test("shapeProblem() keeps members that the format does not name, outside messages", () => {
  for (const type of ["turn/start", "tool/call", "request/context", "effect/dispatched", "approval/asked"]) {
    assertStrictEquals(problemOf(type, (event) => event.data.extra = { any: 1 }), null);
  }
});
