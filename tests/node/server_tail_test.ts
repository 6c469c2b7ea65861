import { dirname } from "node:path";
import { assert, assertEquals } from "@std/assert";
import { bundleForNode, findNode } from "../support/node.ts";

Deno.test("field/G01, field/G02: in Node too nothing is left of clients that leave or never read, and nobody waits for them", async () => {
  const bundle = await bundleForNode("tests/server/node_tail_main.ts");
  try {
    const { success, stdout } = await new Deno.Command(await findNode(), { args: [bundle], stderr: "inherit" })
      .output();
    assert(success);
    const { events, ...seen } = JSON.parse(new TextDecoder().decode(stdout));
    assertEquals(seen, { created: 201, said: 202, tails: [3, 2], isWhole: true, isClean: true });
    assert(events >= 1000, `${events} events`);
  } finally {
    await Deno.remove(dirname(bundle), { recursive: true });
  }
});
