/**
 * What a hosted agent may write: one path policy for everybody who asks, and a record of each refusal.
 */
import * as nodeFs from "node:fs";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { OUTSIDE_WORKSPACE, type WorkspaceFs, workspaceTools } from "../../src/tools/mod.ts";
import { EventStream, scriptedModel, startServer } from "./server_support.ts";

/** As where a process has no `/proc`, or Deno no leave for it. */
const withoutDescriptors: WorkspaceFs = {
  ...nodeFs,
  existsSync: (path) => path !== "/proc/self/fd" && nodeFs.existsSync(path),
};

for (const [where, fs] of [["with descriptors", undefined], ["without", withoutDescriptors]] as const) {
  Deno.test(`field/C09: outside of the workspace nothing is written, by whatever path, and each refusal is on record (${where})`, async () => {
    const world = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${world}/a`);
      await Deno.mkdir(`${world}/b`);
      await Deno.symlink(`${world}/b`, `${world}/a/l`);
      const paths = [`${world}/b/x`, "../b/x", "l/x", "l", "./l/../../b/x"];
      const calls = paths.map((path) => ({ call: { name: "write_file", arguments: { path, content: "x" } } }));
      const fine = { call: { name: "write_file", arguments: { path: "inside.txt", content: "x" } } };
      await using server = await startServer({
        model: scriptedModel([[...calls, fine], [{ text: "Done." }]]),
        tools: workspaceTools({ root: `${world}/a`, fs }),
        approvers: [() => "allowed-once"],
      });
      await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
      await server.json("/v1/sessions/a/inputs", { body: { text: "write" }, status: 202 });
      await using stream = await EventStream.open(server, "a");
      await stream.event("turn/end");
      const results = stream.durable.map(({ row }) => JSON.parse(row)).filter(({ type }) => type === "tool/result");
      assertEquals(results.map(({ data }) => data.error?.code), [...paths.map(() => OUTSIDE_WORKSPACE), undefined]);
      assertEquals(await Array.fromAsync(Deno.readDir(`${world}/b`)), []);
      assertEquals(await Deno.readTextFile(`${world}/a/inside.txt`), "x");
      assertStringIncludes(JSON.stringify(results[0]), "Cannot use path");
    } finally {
      await Deno.remove(world, { recursive: true });
    }
  });
}
