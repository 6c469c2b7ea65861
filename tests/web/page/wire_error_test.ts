import { assertEquals } from "@std/assert";
import { WorkerError } from "../../../web/client.ts";
import { wireError } from "../../../web/page/client.ts";

Deno.test("wireError() keeps the message of a refusal when it is copied, and the sessions that are gone", () => {
  const refusal = new WorkerError({ code: "STORAGE_LOST", message: "Cannot list", sessionIds: ["a"] });
  assertEquals({ ...wireError(refusal) }, { code: "STORAGE_LOST", message: "Cannot list", sessionIds: ["a"] });
  assertEquals({ ...wireError(new WorkerError({ code: "LOCK_HELD", message: "Cannot send" })) }, {
    code: "LOCK_HELD",
    message: "Cannot send",
  });
});

Deno.test("wireError() names an error of the browser by its name, not by its number", () => {
  assertEquals(wireError(new DOMException("gone", "NotFoundError")), { code: "NotFoundError", message: "gone" });
  assertEquals(wireError(new RangeError("too much")), { code: "RangeError", message: "too much" });
  assertEquals(wireError("odd"), { code: "Error", message: "odd" });
});
