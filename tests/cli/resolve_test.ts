import { assertEquals, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
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
