import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { bundleForNode, findNode, NODE_VERSION_MIN } from "./node.ts";
import { repositoryDir } from "./paths.ts";

Deno.test("bundleForNode() makes one file that findNode()'s Node runs, with packages and linked assertions inside", async () => {
  const lockBefore = await Deno.readTextFile(`${repositoryDir}/deno.lock`);
  const node = await findNode();
  const bundle = await bundleForNode("tests/support/node_probe.ts");
  try {
    const { success, stdout, stderr } = await new Deno.Command(node, { args: [bundle] }).output();
    assert(success, new TextDecoder().decode(stderr));
    const { version, hasDeno } = JSON.parse(new TextDecoder().decode(stdout));
    const [major, minor] = version.split(".").map(Number);
    assert(major > NODE_VERSION_MIN[0] || (major === NODE_VERSION_MIN[0] && minor >= NODE_VERSION_MIN[1]), version);
    assertEquals(hasDeno, false);
  } finally {
    await Deno.remove(bundle.replace(/\/[^/]*$/, ""), { recursive: true });
  }
  assertEquals(await Deno.readTextFile(`${repositoryDir}/deno.lock`), lockBefore, "deno.lock changed");
});

Deno.test("findNode() refuses a HOLDFAST_NODE that does not fit instead of taking another one", async () => {
  const script = `
    import { findNode } from ${JSON.stringify(new URL("./node.ts", import.meta.url).href)};
    try { console.log(await findNode()); } catch (error) { console.log(error.message); }
  `;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", "--no-config", script],
    env: { HOLDFAST_NODE: "/nonexistent/node" },
  }).output();
  assertStringIncludes(new TextDecoder().decode(stdout), 'Cannot use HOLDFAST_NODE "/nonexistent/node": not runnable');
});
