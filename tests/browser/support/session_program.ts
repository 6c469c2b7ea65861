/**
 * A program for Deno and Node over a folder of sessions: `record ROOT`, `read ROOT ID`, `go-on ROOT ID`. Prints one JSON document.
 *
 * @module
 */
import process from "node:process";
import { createAgent, defineTool, scripted } from "../../../mod.ts";
import { openFileStore } from "../../../src/entry/file.ts";

/** What the program prints. */
export interface ProgramAnswer {
  readonly id: string;
  /** Of `read`: every event, as JSON. */
  readonly events: readonly string[];
  /** Of `record` and `go-on`: how the turn ended. */
  readonly turn: string | null;
}

const pay = defineTool({
  name: "pay",
  description: "Pays somebody",
  parameters: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  effect: "keyed",
  execute: (args) => `paid ${JSON.stringify(args)}`,
});

async function run(command: string, root: string, id: string): Promise<ProgramAnswer> {
  await using store = openFileStore({ root });
  if (command === "read") {
    await using log = await store.open(id, "read");
    const { events } = await log.read({ limit: 10_000 });
    return { id, events: events.map((event) => JSON.stringify(event)), turn: null };
  }
  const model = scripted([[{ call: { name: "pay", arguments: { to: "bob" } } }], [{ text: "Paid bob. Ça va 😀?" }]]);
  const agent = createAgent({ store, model, tools: [pay], approvers: [() => "allowed-once"] });
  await using session = command === "record" ? await agent.create() : await agent.resume(id);
  const { reason } = await session.send(`pay bob from ${command}`);
  return { id: session.id, events: [], turn: reason.kind };
}

const [command = "", root = "", id = ""] = process.argv.slice(2);
console.log(JSON.stringify(await run(command, root, id)));
