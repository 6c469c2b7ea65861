import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import type { EffectClass, EventOf, SessionEvent } from "../../src/event/mod.ts";
import { closers } from "../../src/session/repair.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, holdfast, TempFolder, writeLog } from "./cli.ts";

/** A turn that was cut short after two calls may have run. */
function unknownLog(): LogBuilder {
  const log = new LogBuilder();
  log.policy();
  log.openStep("one", "two");
  log.call("one");
  log.marker("one");
  log.result("one", "TOOL_OUTCOME_UNKNOWN");
  log.call("two");
  log.marker("two");
  return log;
}

Deno.test("resolve closes the turn, writes the verdict with its note, and tells the model once", async () => {
  await using folder = new TempFolder();
  const log = unknownLog();
  writeLog(folder.root, "s", log.events);
  const callSeq = log.callSeqs.get("two")!;
  const args = ["resolve", "s", String(callSeq), "--happened", "--note", "it is on the statement"];
  const { code, json } = await document(args, { cwd: folder.path });
  assertEquals([code, json.id, json.callSeq, json.verdict], [0, "s", callSeq, "happened"]);
  assertEquals(json.closers.length, closers(log.folds()).length);
  const { type, data } = json.event;
  assertEquals([type, data.callSeq, data.verdict, data.by], ["effect/reconciled", callSeq, "happened", "person"]);
  assertEquals(data.note, "it is on the statement");
  const { json: { events } } = await document(["show", "s"], { cwd: folder.path });
  const types = events.slice(log.events.length + json.closers.length).map((event: { type: string }) => event.type);
  assertEquals(types.toSorted(), [
    ...["agent/inbox/spliced", "checkpoint/policy", "effect/reconciled", "session/end-seed"],
  ]);

  const again = await document(args, { cwd: folder.path });
  assertEquals([again.code, again.json.error.code], [1, "NOT_FOUND"]);
  assertStringIncludes(again.stderr, String(log.callSeqs.get("one")));
  const other = await holdfast(["resolve", "s", String(log.callSeqs.get("one")), "--absent"], { cwd: folder.path });
  assertEquals(other.code, 0);
  assertStringIncludes(other.stdout, "did not happen");
  const { stdout } = await holdfast(["verify", "s"], { cwd: folder.path });
  assertEquals(stdout.includes("outcome unknown"), false);
});

Deno.test("resolve --retry leaves the outcome unknown and lets the model repeat the call", async () => {
  await using folder = new TempFolder();
  const log = unknownLog();
  writeLog(folder.root, "s", log.events);
  const { code, json } = await document(["resolve", "s", String(log.callSeqs.get("one")), "--retry"], {
    cwd: folder.path,
  });
  assertEquals([code, json.verdict], [0, "retry"]);
  const { stdout } = await holdfast(["verify", "s"], { cwd: folder.path });
  assertStringIncludes(stdout, "outcome unknown: pay one");
});

/** A turn that was cut short while a file was written: nobody knows whether it is there. */
function unwrittenLog(effect: EffectClass): { events: SessionEvent[]; callSeq: number } {
  const log = unknownLog();
  const last = log.events.length - 1;
  const callSeq = log.callSeqs.get("two")!;
  const written = { name: "write_file", arguments: WRITE };
  const changed = (event: SessionEvent, change: object) => ({ ...event, data: { ...event.data as object, ...change } });
  const events = log.events.map((event): SessionEvent => {
    if (event.seq === callSeq) return changed(event, written) as SessionEvent;
    return event.seq === last ? changed(event, { effect }) as SessionEvent : event;
  });
  return { events, callSeq };
}

const WRITE = '{"path":"a.txt","content":"hi"}';

Deno.test("after resolve --retry the model's equal call runs once without a question, whatever its class; the next one is asked about", async () => {
  for (const effect of ["idempotent", "opaque"] as const) {
    for (const isGranted of [false, true]) {
      await using folder = new TempFolder();
      const { events, callSeq } = unwrittenLog(effect);
      writeLog(folder.root, "s", events);
      if (isGranted) {
        const { stdout } = await holdfast(["resolve", "s", String(callSeq), "--retry"], { cwd: folder.path });
        assertMatch(stdout, effect === "opaque" ? /it may then happen twice\n$/ : /under the same key/);
      }
      // The other order of the members is the same call.
      const again = { call: { name: "write_file", arguments: { content: "hi", path: "a.txt" } } };
      Deno.writeTextFileSync(`${folder.path}/script.json`, JSON.stringify([[again], [again], [{ text: "done" }]]));
      const flags = ["--session", "s", "--model", "scripted:script.json", "--approve", "refuse"];
      const { code, stdout } = await holdfast(["run", "again", ...flags, "--workspace", "."], { cwd: folder.path });
      assertEquals(code, 0);
      const where = `${effect}, ${isGranted ? "granted" : "not granted"}`;
      assertEquals(Object.keys(folder.snapshot()).includes("a.txt"), isGranted, where);
      assertEquals(stdout.split("not allowed").length - 1, isGranted ? 1 : 2, where);
      const { json } = await document(["show", "s", "--limit", "all"], { cwd: folder.path });
      const markers = json.events.filter(({ type }: SessionEvent) => type === "effect/dispatched");
      const [unknown, repetition] = markers.slice(1).map(({ data }: EventOf<"effect/dispatched">) => data);
      assertEquals(markers.length, isGranted ? 3 : 2, where);
      if (!isGranted) continue;
      assertEquals([repetition.retryOf, repetition.effectKey], [callSeq, unknown.effectKey], where);
    }
  }
});

Deno.test("resolve of a seq that is no unknown outcome changes nothing, not even the open turn", async () => {
  await using folder = new TempFolder();
  const log = unknownLog();
  writeLog(folder.root, "s", log.events);
  const before = folder.snapshot();
  for (const seq of ["0", "9999"]) {
    const { code, json, stderr } = await document(["resolve", "s", seq, "--absent"], { cwd: folder.path });
    assertEquals([code, json.error.code], [1, "NOT_FOUND"]);
    assertStringIncludes(stderr, [...log.callSeqs.values()].join(", "));
  }
  for (const args of [["x", "--absent"], ["5"], ["5", "--absent", "--happened"], ["-1", "--absent"]]) {
    assertEquals((await document(["resolve", "s", ...args], { cwd: folder.path })).code, 2, args.join(" "));
  }
  assertEquals(folder.snapshot(), before);
});

Deno.test("resolve while a writer holds the session is refused and changes nothing", async () => {
  await using folder = new TempFolder();
  const log = unknownLog();
  const path = writeLog(folder.root, "s", log.events);
  await using store = openFileStore({ root: folder.root });
  await using _ = await store.open("s", "write");
  const before = Deno.readFileSync(path);
  const { code, json } = await document(["resolve", "s", String(log.callSeqs.get("one")), "--absent"], {
    cwd: folder.path,
  });
  assertEquals([code, json.error.code], [1, "LOCK_HELD"]);
  assertEquals(Deno.readFileSync(path), before);
});
