import { assertEquals } from "@std/assert";
import { createAgent, scripted } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { connectMcp } from "../../src/mcp/mod.ts";
import { fromFileUrl } from "../support/paths.ts";
import { processEndpoint, ServerLog } from "./mcp_support.ts";

const CHILD = fromFileUrl(new URL("caller_child.ts", import.meta.url));

Deno.test("mcp: kill -9 during a call leaves it unknown, and nothing repeats it", async () => {
  await using log = await ServerLog.make();
  const root = await Deno.makeTempDir({ prefix: "holdfast-mcp-" });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", CHILD, root, log.folder],
    stdin: "null",
    stdout: "null",
  }).spawn();
  try {
    await log.until((line) => line.call === "hang");
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }

  await using server = await connectMcp({ name: "bank", endpoint: processEndpoint(log) });
  await using store = openFileStore({ root });
  const model = scripted([
    [{ call: { name: "bank__hang", arguments: { to: "alice" } } }],
    [{ text: "I will look first." }],
  ]);
  let asked = 0;
  const refuse = () => {
    asked++;
    return "rejected" as const;
  };
  const agent = createAgent({ store, model, tools: server.tools, approvers: [refuse] });
  await using session = await agent.resume("killed");
  assertEquals(session.resumed!.calls.map((call) => [call.name, call.class]), [["bank__hang", "outcome_unknown"]]);
  assertEquals(log.calls(), ["hang"]);
  const [effect] = session.session.folds.unresolved.effects;
  assertEquals(effect!.effectKey, log.lines()[0].meta["holdfast/effectKey"]);

  // An equal call is a retry of an opaque effect, and a person is asked before anything is sent.
  await session.send("go on");
  assertEquals([asked, log.calls()], [1, ["hang"]]);
  await session.close();
  await Deno.remove(root, { recursive: true });
});
