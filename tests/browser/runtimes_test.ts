import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { eventsOf, readRaw } from "../kill/raw_log.ts";
import { bundleForNode, findNode } from "../support/node.ts";
import { repositoryDir } from "../support/paths.ts";
import { Lab, type LabTab } from "./support/lab.ts";
import type { ProgramAnswer } from "./support/session_program.ts";
import { verifyLogs } from "./support/verify.ts";

/** A runtime with files: how it runs the program. */
interface Runtime {
  readonly name: string;
  readonly command: readonly string[];
}

Deno.test("a session goes from the browser to Deno and Node and back, and its bytes stay the same wherever nobody writes", async (t) => {
  const bundle = await bundleForNode("tests/browser/support/session_program.ts");
  const program = `${repositoryDir}/tests/browser/support/session_program.ts`;
  const runtimes: Runtime[] = [
    { name: "Deno", command: [Deno.execPath(), "run", "-A", "--config", `${repositoryDir}/deno.json`, program] },
    { name: "Node", command: [await findNode(), bundle] },
  ];
  try {
    await using lab = await Lab.open();
    const tab = await lab.openTab("travels");
    for (const runtime of runtimes) {
      await t.step(`recorded in the browser, read and continued in ${runtime.name}, and back`, async () => {
        await fromBrowser(runtime, tab);
      });
      await t.step(`recorded in ${runtime.name}, read and continued in the browser, and back`, async () => {
        await toBrowser(runtime, tab);
      });
    }
  } finally {
    await Deno.remove(dirname(bundle), { recursive: true });
  }
});

async function fromBrowser(runtime: Runtime, tab: LabTab): Promise<void> {
  await using folder = await Folder.make();
  const { id } = await tab.call("create", {});
  await pay(tab, id, `${runtime.name}1`);
  const recorded = await tab.export(id);
  await folder.put(id, recorded);

  const { events } = await folder.run(runtime, "read", id);
  assertEquals(events, textsOf(recorded));
  assertEquals(await folder.get(id), recorded, "reading changed the file");

  assertEquals((await folder.run(runtime, "go-on", id)).turn, "completed");
  const continued = await folder.get(id);
  assertGoesOn(recorded, continued);
  await tab.call("detach", { id });
  await tab.call("delete", { id });
  await takeIn(tab, id, continued);
  await pay(tab, id, `${runtime.name}2`);
  assertGoesOn(continued, await tab.export(id));
  await verifyLogs(new Map([["continued", continued], ["back in the browser", await tab.export(id)]]));
  await tab.call("detach", { id });
}

async function toBrowser(runtime: Runtime, tab: LabTab): Promise<void> {
  await using folder = await Folder.make();
  const { id, turn } = await folder.run(runtime, "record", "");
  assertEquals(turn, "completed");
  const recorded = await folder.get(id);
  await takeIn(tab, id, recorded);

  await pay(tab, id, `${runtime.name}3`);
  const continued = await tab.export(id);
  assertGoesOn(recorded, continued);
  await folder.put(id, continued);
  const { events } = await folder.run(runtime, "read", id);
  assertEquals(events, textsOf(continued));
  assertEquals((await folder.run(runtime, "go-on", id)).turn, "completed");
  assertGoesOn(continued, await folder.get(id));
  await verifyLogs(new Map([["continued", continued], ["back in files", await folder.get(id)]]));
  await tab.call("detach", { id });
}

/** Imports, and shows that the bytes that come out again are those that went in, before and after looking at them. */
async function takeIn(tab: LabTab, id: string, bytes: Uint8Array): Promise<void> {
  const imported = await tab.import("session.v3.jsonl.zstd", bytes);
  assertEquals(imported.id, id);
  assertEquals(await tab.export(id), bytes, "importing changed the bytes");
  const { events } = await tab.call("history", { id, from: 0, limit: 10_000 });
  assertEquals(events.map((event) => JSON.stringify(event)), textsOf(bytes));
  assertEquals(await tab.export(id), bytes, "looking changed the bytes");
  await tab.call("attach", { id });
  assertEquals(await tab.export(id), bytes, "opening changed the bytes before anything was said");
}

async function pay(tab: LabTab, id: string, payee: string): Promise<void> {
  await tab.tab.evaluate(`lab.allow({ ${payee}: 0 })`);
  await tab.converse(id, payee, `pay 1 to ${payee}`);
}

/** Every event, as it is spelled in the file and as every reader of ours spells it. */
function textsOf(bytes: Uint8Array): string[] {
  return eventsOf(readRaw(bytes).rows).map(({ text }) => JSON.stringify(JSON.parse(text)));
}

function assertGoesOn(before: Uint8Array, after: Uint8Array): void {
  assert(after.length > before.length, "nothing was added");
  assertEquals(after.slice(0, before.length), before, "what was there changed");
}

/** A root of the file adapter. */
class Folder implements AsyncDisposable {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  static async make(): Promise<Folder> {
    return new Folder(await Deno.makeTempDir({ prefix: "holdfast-travels-" }));
  }

  async put(id: string, bytes: Uint8Array): Promise<void> {
    await Deno.mkdir(dirname(this.#pathOf(id)), { recursive: true });
    await Deno.writeFile(this.#pathOf(id), bytes);
  }

  get(id: string): Promise<Uint8Array<ArrayBuffer>> {
    return Deno.readFile(this.#pathOf(id));
  }

  async run({ name, command }: Runtime, verb: string, id: string): Promise<ProgramAnswer> {
    const [path, ...args] = command;
    const { code, stdout, stderr } = await new Deno.Command(path!, { args: [...args, verb, this.#root, id] }).output();
    if (code !== 0) throw new Error(`${verb} in ${name} ended with ${code}: ${new TextDecoder().decode(stderr)}`);
    return JSON.parse(new TextDecoder().decode(stdout));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#root, { recursive: true });
  }

  #pathOf(id: string): string {
    return `${this.#root}/_no-cwd/${id}/session.v3.jsonl.zstd`;
  }
}
