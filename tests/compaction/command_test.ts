import { assertEquals } from "@std/assert";
import { compactCommand } from "../../src/compaction/mod.ts";

Deno.test("compaction/C-33: /compact takes no arguments, and is told from a message that begins like it", () => {
  for (const text of ["/compact", " /compact\n"]) assertEquals(compactCommand(text), "compact", text);
  for (const text of ["/compact now please", "/compact\tnow", "/compact -f"]) {
    assertEquals(compactCommand(text), "usage", text);
  }
  for (const text of ["/compactor", "/ compact", "please /compact", "compact", ""]) {
    assertEquals(compactCommand(text), null, text);
  }
});
