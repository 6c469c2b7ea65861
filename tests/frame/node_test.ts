import { assert, assertEquals } from "@std/assert";
import { codecContract } from "../../src/testing/codec_contract.ts";
import { bundleForNode, findNode } from "../support/node.ts";

Deno.test("codec contract on Node: both codecs pass every case", async () => {
  const node = await findNode();
  const bundle = await bundleForNode("tests/frame/node_suite.ts");
  try {
    const { success, stdout, stderr } = await new Deno.Command(node, { args: [bundle] }).output();
    assert(success, new TextDecoder().decode(stderr));
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), { cases: 2 * codecContract.length, failures: [] });
  } finally {
    await Deno.remove(bundle.replace(/\/[^/]*$/, ""), { recursive: true });
  }
});
