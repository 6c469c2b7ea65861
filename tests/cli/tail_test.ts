import { assertEquals, assertStringIncludes } from "@std/assert";
import { LogBuilder } from "../fold/log_builder.ts";
import { holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

function threeEvents(): LogBuilder {
  const log = new LogBuilder();
  log.startTurn();
  log.user("hello");
  log.endTurn();
  return log;
}

Deno.test("tail prints what is durable from a seq on, until it is interrupted", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "s", threeEvents().events);
  let interrupt = () => {};
  const { code, stdout, stderr } = await holdfast(["tail", "s", "--from", "1"], {
    cwd: folder.path,
    onListening: (given) => interrupt = given,
    onOutput: (text) => {
      if (text.includes("turn/end")) interrupt();
    },
  });
  assertEquals([code, stdout.trimEnd().split("\n").length, stderr], [0, 2, ""]);
  assertStringIncludes(stdout, "hello");
});

Deno.test("tail of a damaged log prints what lies before the damage, then says so, exit code 1", async () => {
  await using folder = new TempFolder();
  const { bytes } = logBytes("bad", threeEvents().events, { frames: [2, 1] });
  bytes[bytes.length - 1]! ^= 1;
  writeLog(folder.root, "bad", bytes);
  const { code, stdout, stderr } = await holdfast(["tail", "bad"], { cwd: folder.path });
  assertEquals([code, stdout.trimEnd().split("\n").length], [1, 2]);
  assertStringIncludes(stderr, "CORRUPT_FRAME: ");
});
