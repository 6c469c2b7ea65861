import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { CompactionError } from "../../src/compaction/mod.ts";
import type { Message } from "../../src/event/mod.ts";
import { deriveMessages } from "../../src/fold/mod.ts";
import { forkSession, type Session } from "../../src/session/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { answerOf, compact, heldSummariser, newSession } from "./bracket_support.ts";

const RUNS = 400;

type Action =
  | { readonly kind: "append" }
  | { readonly kind: "start"; readonly first: number; readonly last: number }
  | { readonly kind: "finish"; readonly isGood: boolean }
  | { readonly kind: "clear" }
  | { readonly kind: "fork" };

const ACTION: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Action>({ kind: "append" }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("start" as const), first: fc.nat(30), last: fc.nat(8) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("finish" as const), isGood: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant<Action>({ kind: "clear" }) },
  { weight: 1, arbitrary: fc.constant<Action>({ kind: "fork" }) },
);

/** What a simple list does: no log, no seqs, no brackets. */
class SimpleModel {
  items: string[] = [];
  pending: { readonly span: readonly string[]; readonly name: string } | null = null;
  #names = 0;

  append(name: string): void {
    this.items.push(name);
  }

  /** Returns the span as it is named, or `null` when nothing can be begun. */
  start(first: number, last: number): readonly string[] | null {
    if (this.pending !== null || last >= this.items.length || first > last) return null;
    const span = this.items.slice(first, last + 1);
    this.pending = { span, name: `summary ${this.#names++}` };
    return span;
  }

  /** Returns whether it counted. */
  finish(isGood: boolean): boolean {
    const { span, name } = this.pending!;
    this.pending = null;
    const at = this.items.indexOf(span[0]!);
    const isThere = at !== -1 && span.every((item, index) => this.items[at + index] === item);
    // A summary of one short thing is not shorter than it is, and is refused.
    const isWorthIt = span.length > 1 || span[0]!.startsWith("said");
    if (isGood && isThere && isWorthIt) this.items.splice(at, span.length, name);
    return isGood && isThere && isWorthIt;
  }

  clear(name: string): void {
    this.items = [name];
  }
}

Deno.test("field/B19: whatever is interleaved with a compaction, the surface is that of a simple list", async () => {
  const counts: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(fc.array(ACTION, { minLength: 16, maxLength: 40 }), async (actions) => {
      const store = new FakeStore();
      const session = await newSession(store);
      const model = new SimpleModel();
      const names = new Map<number, string>();
      let [said, forks] = [0, 0];
      let running: { readonly held: ReturnType<typeof heldSummariser>; readonly done: Promise<unknown> } | null = null;
      for (const action of actions) {
        if (action.kind === "append") {
          const name = `said ${said++}`;
          model.append(name);
          names.set(add(session, `${name} ${"and more ".repeat(100)}`), name);
        } else if (action.kind === "start") {
          const nodes = session.folds.surface.nodes.toArray();
          const isBusy = model.pending !== null;
          const at = action.first % (nodes.length + 1);
          const to = Math.min(at + action.last, nodes.length - (action.last % 5 === 0 ? 0 : 1));
          const span = model.start(at, to);
          const [first, last] = [nodes[at]?.seq ?? 9999, nodes[to]?.seq ?? 9999];
          const held = heldSummariser();
          const done = compact(session, first, last, { summarise: held.summarise, stability: "span" }).then(
            (compacted) => compacted,
            (error) => error,
          );
          if (span !== null) running = { held, done };
          else {
            const error = await done;
            const isRefused = error instanceof RangeError ||
              (error instanceof CompactionError && error.code === "busy");
            assert(isRefused && (isBusy || error instanceof RangeError), String(error));
            assertEquals(held.requests.length, 0);
          }
        } else if (action.kind === "finish") {
          if (running === null || model.pending === null) continue;
          const { name } = model.pending;
          if (action.isGood) running.held.answer.resolve(answerOf("so far"));
          else running.held.answer.reject(new Error("no connection"));
          const outcome = await running.done;
          running = null;
          const counted = model.finish(action.isGood);
          count(counts, counted ? "compacted" : "came to nothing");
          assertEquals(!(outcome instanceof Error), counted, String(outcome));
          if (counted) names.set((outcome as { replacementSeq: number }).replacementSeq, name);
          else if (action.isGood) assert(["changed", "summary"].includes((outcome as CompactionError).code));
        } else if (action.kind === "clear") {
          const nodes = session.folds.surface.nodes.toArray();
          if (nodes.length === 0) continue;
          const name = `cleared ${said++}`;
          model.clear(name);
          names.set(replaceAll(session, nodes.map(({ seq }) => seq), name), name);
          count(counts, "cleared");
        } else {
          // A compaction that runs in the parent is the parent's.
          await session.flush();
          if (session.nextSeq === 0) continue;
          const fork = (await forkSession({ store, session, id: `f${forks++}` })).session;
          assertEquals(fork.folds.brackets.compaction, null);
          assertEquals(deriveMessages(fork.folds.surface), deriveMessages(session.folds.surface));
          await fork.close();
          count(counts, "forked");
        }
        await settle();
        assertEquals(shown(session, names), model.items);
      }
      running?.held.answer.reject(new Error("the test is over"));
      await running?.done;
      await session.close();
    }),
    { numRuns: RUNS, seed: 19 },
  );
  console.log(`${RUNS} interleavings: ${JSON.stringify(counts)}`);
  for (const what of ["compacted", "came to nothing", "cleared", "forked"]) {
    assert((counts[what] ?? 0) > RUNS / 5, what);
  }
});

function count(counts: Record<string, number>, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

function shown(session: Session, names: ReadonlyMap<number, string>): string[] {
  return session.folds.surface.nodes.toArray().map(({ seq }) => names.get(seq) ?? `seq ${seq}`);
}

/** Says something that is no person's prompt, which a summary would have to repeat. */
function add(session: Session, text: string): number {
  const source = { kind: "plugin", plugin: "host" };
  const data: Message = { id: `x${session.nextSeq}`, role: "user", content: [{ type: "text", text }], source };
  return session.append({ type: "user/message", data, surfaceOp: "append" }).seq;
}

/** What a program does that empties a conversation: one message in place of all. */
function replaceAll(session: Session, seqs: readonly number[], text: string): number {
  const source = { kind: "plugin", plugin: "host" };
  const data: Message = { id: `x${session.nextSeq}`, role: "user", content: [{ type: "text", text }], source };
  return session.append({
    type: "user/message",
    data,
    surfaceOp: { op: "replace", startSeq: seqs[0]!, endSeq: seqs.at(-1)! },
    sourceEventSeqs: seqs,
  }).seq;
}
