import { assertEquals } from "@std/assert";
import { contextGauge, foldEvents, logFold } from "../../../mod.ts";
import { LogBuilder } from "../../fold/log_builder.ts";
import { gaugeWords } from "../../../web/page/context_gauge.tsx";

Deno.test("the gauge says how full the window is, where the log says how large it is", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.user("x".repeat(40_000 - 32));
  assertEquals(contextGauge(log.folds()), { tokens: 10_000, windowTokens: null, share: null });
  log.add("request/context", { provider: "p", model: "m", contextWindow: 32_000 });
  const gauge = contextGauge(log.folds());
  assertEquals(gauge, { tokens: 10_000, windowTokens: 32_000, share: 0.3125 });
  assertEquals(gaugeWords(gauge), "10.0k of 32.0k tokens, 31 %");
  assertEquals(gaugeWords({ tokens: 812, windowTokens: null, share: null }), "812 tokens");
  assertEquals(contextGauge(foldEvents(logFold, [])).tokens, 0);
});
