/**
 * The page over a worker that plays one scene, named in the address: `?scene=question`. What it was asked is in `window.calls`.
 *
 * @module
 */
import { render } from "preact";
import type { SessionEvent } from "../../mod.ts";
import { App } from "../../web/page/app.tsx";
import { browserSurroundings } from "../../web/page/browser.ts";
import { tabMemory } from "../../web/page/memory.ts";
import { PageStore } from "../../web/page/page_store.ts";
import type { PageVerb } from "../../web/protocol.ts";
import {
  answer,
  BANK,
  compaction,
  fakeConnection,
  logOf,
  payment,
  QUESTION,
  row,
  type Scene,
  UNKNOWN,
} from "./fake_client.ts";

const ID = "01ky3v7m2q8r5t";

const HOSTILE = [
  "Here is **what I did**, with `code` and [a link](https://example.com):",
  "",
  "```ts",
  'const paid = await pay({ to: "alice", amount: 10 });',
  "```",
  "",
  "| key | paid |",
  "|---|---|",
  "| 3f2a | yes |",
  "",
  '<img src="https://evil.example/x.png" onerror="window.pwned=1"> <form action="https://evil.example"><input></form>',
  '<style>body{display:none}</style> <script>window.pwned=1</script> <a href="javascript:window.pwned=1">click</a>',
  "![remote](https://evil.example/y.png)",
].join("\n");

/** A hundred thousand small events. */
function longLog(): SessionEvent[] {
  return logOf(Array.from({ length: 100_000 }, (_, index) => ({
    type: index % 3 === 0 ? "step/start" : index % 3 === 1 ? "user/message" : "step/end",
    data: index % 3 === 1
      ? {
        id: `m${index}`,
        role: "user",
        content: [{ type: "text", text: `message ${index}` }],
        source: { kind: "user" },
      }
      : { turn: index, step: 1 },
  })));
}

const FILE_QUESTION = {
  ...QUESTION,
  toolName: "write_file",
  reason: 'write 61 characters to "notes.txt"',
  argumentsText: '{"path":"notes.txt","content":"milk\\nbread\\ntwelve eggs\\ncoffee\\n"}',
  fileChange: { path: "notes.txt", before: "milk\nbread\nsix eggs\n", after: "milk\nbread\ntwelve eggs\ncoffee\n" },
};

const ROWS = [
  row(ID, "ok", null),
  { ...row("01ky2n4c9dk30w", "open", "a turn is open: 1 call to be closed"), live: true },
  row("01kxwz81rt6vma", "damaged", "frame at 8123: the checksum does not match"),
];

const asked = logOf(payment("pay 10 to alice", "asked"));
const dispatched = logOf(payment("pay 10 to alice", "dispatched"));
const settled = logOf([...payment("pay 10 to alice", "dispatched"), {
  type: "effect/reconciled",
  data: { callSeq: 6, callId: "call_1", verdict: "happened", by: "person" } as never,
}]);
const done = logOf([
  ...payment("pay 10 to alice", "done"),
  answer(HOSTILE, "The bank said 200, so it is done."),
]);
const compacted = logOf([...payment("pay 10 to alice", "done"), ...compaction(14)]);
const atRisk = { durableSeq: done.length - 3, pendingEvents: 2, pendingBytes: 612 };

const SCENES: Record<string, () => Scene> = {
  welcome: () => ({ events: [], view: {}, rows: [] }),
  done: () => ({ events: done, view: { durability: atRisk as never }, rows: ROWS, bank: BANK }),
  compacted: () => ({ events: compacted, view: {}, rows: ROWS, bank: BANK }),
  compacting: () => ({ events: compacted.slice(0, -3), view: {}, rows: ROWS, bank: BANK }),
  streaming: () => ({
    events: done.slice(0, 5),
    view: { status: "running" },
    rows: ROWS,
    news: [
      {
        kind: "chunk",
        id: ID,
        turn: 1,
        step: 1,
        chunk: { type: "reasoning-delta", index: 0, text: "They want money moved." },
      },
      {
        kind: "chunk",
        id: ID,
        turn: 1,
        step: 1,
        chunk: { type: "text-delta", index: 1, text: "I am the **demo model**, and I" },
      },
    ],
  }),
  question: () => ({ events: asked, view: { status: "running", questions: [QUESTION] }, rows: ROWS }),
  file: () => ({ events: asked, view: { status: "running", questions: [FILE_QUESTION] }, rows: ROWS }),
  hostile: () => ({
    events: asked,
    view: {
      status: "running",
      questions: [{ ...QUESTION, reason: "<img src=x>", argumentsText: '{"to":"<img src=x onerror=alert(1)>"}' }],
    },
  }),
  unknown: () => ({
    events: dispatched,
    view: {
      unknowns: [UNKNOWN],
      repaired: {
        closers: dispatched.slice(11, 14),
        calls: [{ callId: "call_1", callSeq: 6, name: "pay", class: "outcome_unknown" }],
      },
    },
    rows: [row(ID, "ok", "1 effect whose outcome is unknown"), ...ROWS.slice(1)],
    bank: BANK,
  }),
  gone_on: () => ({
    events: logOf([...payment("pay 10 to alice", "dispatched"), {
      type: "user/message",
      data: {
        id: "m9",
        role: "user",
        content: [{ type: "text", text: "list the files" }],
        source: { kind: "user" },
      } as never,
    }, answer("Two files are there: notes.txt and todo.txt.", "")]),
    view: { unknowns: [UNKNOWN] },
    rows: ROWS,
    bank: BANK,
  }),
  opaque: () => ({ events: dispatched, view: { unknowns: [{ ...UNKNOWN, effect: "opaque", effectKey: null }] } }),
  repeats: () => ({
    events: dispatched,
    view: {
      status: "running",
      questions: [{
        ...QUESTION,
        reason: "an equal earlier call (seq 6) may already have taken effect",
        repeats: { callSeq: 6, effect: "opaque" },
      }],
      unknowns: [{ ...UNKNOWN, effect: "opaque" }],
    },
    rows: ROWS,
    bank: BANK,
  }),
  retry: () => ({ events: dispatched, view: { unknowns: [{ ...UNKNOWN, isRetryAllowed: true }] }, bank: BANK }),
  settled: () => ({
    events: settled,
    view: {
      repaired: {
        closers: dispatched.slice(11, 14),
        calls: [{ callId: "call_1", callSeq: 6, name: "pay", class: "outcome_unknown" }],
      },
    },
    rows: ROWS,
    bank: BANK,
  }),
  taken: () => ({ events: done, view: {}, rows: ROWS, taken: "01ky2n4c9dk30w" }),
  stuck: () => ({
    events: done,
    view: {
      role: {
        kind: "stuck",
        ownerLabel: "the tab opened at 09:12",
        reason: "the browser froze the tab that holds the log",
      },
    },
    rows: ROWS,
  }),
  damaged: () => ({
    events: done,
    view: {
      role: {
        kind: "read-only",
        fault: { code: "CORRUPT_FRAME", offsetBytes: 8123, seq: 15, message: "the frame at 8123 has a wrong checksum" },
      },
    },
    rows: ROWS,
  }),
  lost: () => ({
    events: [],
    view: {},
    refusal: {
      code: "STORAGE_LOST",
      message: 'Cannot open storage "opfs": 2 sessions that were there are gone',
      sessionIds: ["01ky2n4c9dk30w", "01kxwz81rt6vma"],
    },
  }),
  unusable: () => ({
    events: [],
    view: {},
    refusal: { code: "STORAGE_UNUSABLE", message: 'Cannot use storage "opfs": private windows give no access to it' },
  }),
  silent: () => ({ events: [], view: {}, isSilent: true }),
  long: () => ({ events: longLog(), view: {}, rows: ROWS }),
};

const scene = SCENES[new URLSearchParams(location.search).get("scene") ?? "welcome"]!();
const calls: { verb: PageVerb; ask: unknown }[] = [];
Object.assign(globalThis, { calls });
if (scene.events.length > 0) history.replaceState(null, "", `${location.search}#session=${ID}`);
const store = new PageStore(() => fakeConnection(scene, calls), tabMemory(), browserSurroundings());
render(<App store={store} />, document.getElementById("page")!);
store.start();
