import { assertEquals } from "@std/assert";
import { foldEvents, policyFold, routeFold } from "../../src/fold/mod.ts";
import { LogBuilder } from "./log_builder.ts";

Deno.test("policyFold keeps the last approval/policy, and null before the first", () => {
  const log = new LogBuilder();
  assertEquals(foldEvents(policyFold, log.events).policy, null);
  log.add("approval/policy", { policy: "ask" });
  log.add("approval/policy", { policy: "never", source: "delegation" });
  log.endSeed();
  assertEquals(foldEvents(policyFold, log.events).policy, "never");
});

Deno.test("routeFold keeps the last header and the last context, each as a whole", () => {
  const log = new LogBuilder();
  assertEquals(foldEvents(routeFold, log.events), { header: null, context: null });
  log.add("request/header", { header: { config: { provider: "p", model: "a", maxTokens: 5 } }, reason: "initial" });
  log.add("request/context", { provider: "p", model: "a", contextWindow: 100 });
  log.add("request/header", { header: { config: { provider: "p", model: "b" } }, reason: "change" });
  assertEquals(foldEvents(routeFold, log.events), {
    header: { config: { provider: "p", model: "b" } },
    context: { provider: "p", model: "a", contextWindow: 100 },
  });
});
