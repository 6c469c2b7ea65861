import { assertEquals } from "@std/assert";
import { NAMED_LOG_BYTES_MAX, NAMED_SESSIONS_MAX, nameIn, nextToName } from "../../../web/page/session_names.ts";
import { logOf, payment, row } from "../../browser/fake_client.ts";

Deno.test("nameIn() is the first line a person said", () => {
  assertEquals(nameIn(logOf(payment("pay 10 to alice\nplease", "asked"))), "pay 10 to alice");
  assertEquals(nameIn(logOf(payment("x".repeat(500), "asked")))!.length, 80);
  assertEquals(nameIn(logOf(payment("hello", "asked").slice(0, 2))), null);
});

Deno.test("nextToName() takes the newest first, and no more sessions and no larger logs than its bounds", () => {
  const rows = Array.from({ length: NAMED_SESSIONS_MAX + 5 }, (_, index) => ({
    ...row(`s${index}`, "ok", null),
    lastEventTime: index,
    ...(index === 7 ? { sizeBytes: NAMED_LOG_BYTES_MAX + 1 } : {}),
  }));
  const named = new Set<string>();
  for (let task = nextToName(rows, named); task !== null; task = nextToName(rows, named)) named.add(task.id);
  assertEquals([named.size, [...named][0]], [NAMED_SESSIONS_MAX - 1, `s${NAMED_SESSIONS_MAX + 4}`]);
  assertEquals([named.has("s7"), named.has("s4"), named.has("s5")], [false, false, true]);
});
