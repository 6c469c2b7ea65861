import { assertEquals } from "@std/assert";
import { FIRST_PROMPT_LENGTH_MAX, foldEvents, logFold } from "../../src/fold/mod.ts";
import { LogBuilder } from "./log_builder.ts";

Deno.test("firstPromptFold keeps what the session began with, also when the surface does not hold it any more", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.user(" \n ");
  const first = log.user("  pay alice\nand nobody else ");
  log.user("and bob");
  log.user("summary", { op: "replace", startSeq: first, endSeq: first }, [first]);
  assertEquals(log.folds().firstPrompt, { line: "pay alice" });
  assertEquals(foldEvents(logFold, []).firstPrompt, { line: null });
});

Deno.test("firstPromptFold cuts a long line between characters", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.user(`${"x".repeat(FIRST_PROMPT_LENGTH_MAX - 1)}😀`);
  assertEquals(log.folds().firstPrompt.line, "x".repeat(FIRST_PROMPT_LENGTH_MAX - 1));
});
