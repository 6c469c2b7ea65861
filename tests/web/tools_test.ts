/** The tools of our worker: a workspace in the browser's files, and a pretend bank. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { callTool, type Tool } from "../../mod.ts";
import { systemRuntime } from "../../src/entry/memory.ts";
import { bankPath, localBank, payTool, remoteBank } from "../../web/worker/bank.ts";
import type { KeyValues } from "../../web/worker/platform.ts";
import { fileChangeIn, type WorkspaceFile, type WorkspaceFolder, workspaceTools } from "../../web/worker/workspace.ts";

/** Files of a browser, in memory. */
class FakeFolder implements WorkspaceFolder {
  readonly kind = "directory";
  readonly #entries = new Map<string, FakeFolder | FakeFile>();

  getDirectoryHandle(name: string, { create = false } = {}): Promise<WorkspaceFolder> {
    return this.#get(name, FakeFolder, create);
  }

  getFileHandle(name: string, { create = false } = {}): Promise<WorkspaceFile> {
    return this.#get(name, FakeFile, create);
  }

  removeEntry(name: string): Promise<void> {
    return this.#entries.delete(name) ? Promise.resolve() : Promise.reject(new DOMException(name, "NotFoundError"));
  }

  async *entries(): AsyncIterable<[string, WorkspaceFile | WorkspaceFolder]> {
    yield* await Promise.resolve(this.#entries);
  }

  #get<Entry extends FakeFolder | FakeFile>(name: string, kind: new () => Entry, create: boolean): Promise<Entry> {
    const entry = this.#entries.get(name);
    if (entry instanceof kind) return Promise.resolve(entry);
    if (entry !== undefined || !create) return Promise.reject(new DOMException(name, "NotFoundError"));
    const made = new kind();
    this.#entries.set(name, made);
    return Promise.resolve(made);
  }
}

class FakeFile implements WorkspaceFile {
  readonly kind = "file";
  #content = new Blob();

  getFile() {
    return Promise.resolve(this.#content);
  }

  createWritable() {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    return Promise.resolve({
      write: (bytes: Uint8Array<ArrayBuffer>) => Promise.resolve(void parts.push(bytes)),
      close: () => Promise.resolve(void (this.#content = new Blob(parts))),
    });
  }
}

function memoryValues(): KeyValues {
  const values = new Map<string, unknown>();
  return {
    get: (key) => Promise.resolve(values.get(key)),
    update: (key, change) => Promise.resolve(void values.set(key, change(values.get(key)))),
  };
}

async function textOf(tools: readonly Tool[], name: string, args: unknown): Promise<string> {
  const tool = tools.find((tool) => tool.name === name)!;
  // A person agrees.
  const allowed: Tool = { ...tool, permissionFor: () => ({ decision: "allow" }) };
  const { content } = await callTool(allowed, args, systemRuntime);
  return content.map((block) => block.type === "text" ? block.text : "").join("");
}

Deno.test("workspaceTools() writes, reads, lists and deletes, and stays inside", async () => {
  const root = new FakeFolder();
  let isThere = false;
  const open = (create: boolean) => {
    isThere ||= create;
    return isThere ? Promise.resolve(root) : Promise.reject(new DOMException("workspace", "NotFoundError"));
  };
  const tools = workspaceTools(open);
  assertEquals(await textOf(tools, "list_files", {}), "The folder is empty.");
  assertStringIncludes(await textOf(tools, "read_file", { path: "a.txt" }), "there is no such file");
  assertEquals(await textOf(tools, "delete_file", { path: "a.txt" }), "There is no a.txt.");
  assertEquals(isThere, false);

  const write = { path: "notes/a.txt", content: "hello" };
  assertEquals(await fileChangeIn(open, "write_file", JSON.stringify(write)), {
    path: write.path,
    before: null,
    after: "hello",
  });
  await textOf(tools, "write_file", write);
  assertEquals(await textOf(tools, "list_files", {}), "notes/");
  assertEquals(await textOf(tools, "list_files", { path: "notes" }), "a.txt");
  assertEquals(await textOf(tools, "read_file", { path: "./notes//a.txt" }), "hello");
  assertEquals(await textOf(tools, "read_file", { path: "notes/a.txt", offsetBytes: 3 }), "lo");
  const lookedUp = async (content: string) => {
    const args = { path: "notes/a.txt", content };
    const lookup = {
      effectKey: "k",
      args,
      effect: "idempotent",
      callSeq: 1,
      signal: AbortSignal.timeout(1000),
    } as const;
    const answer = await tools.find(({ name }) => name === "write_file")!.reconcile!(lookup);
    return (answer as { readonly verdict: string }).verdict;
  };
  assertEquals([await lookedUp("hello"), await lookedUp("hallo"), await lookedUp("hell")], [
    "happened",
    "undecidable",
    "undecidable",
  ]);
  assertEquals(await fileChangeIn(open, "delete_file", JSON.stringify({ path: write.path })), {
    path: write.path,
    before: "hello",
    after: "",
  });
  assertEquals(await fileChangeIn(open, "read_file", JSON.stringify({ path: write.path })), null);
  await textOf(tools, "delete_file", { path: write.path });
  assertEquals(await textOf(tools, "list_files", { path: "notes" }), "The folder is empty.");
  for (const path of ["../a", "/a", "a/../../b", ""]) {
    assertStringIncludes(await textOf(tools, "write_file", { path, content: "" }), "Cannot use");
  }
});

Deno.test("localBank() pays once per key, and its book outlives it", async () => {
  const values = memoryValues();
  const payment = { effectKey: "k1", to: "alice", amount: "10" };
  const { signal } = new AbortController();
  await localBank(values, () => 5).pay(payment, signal);
  assertEquals(await localBank(values, () => 9).pay(payment, signal), { ...payment, time: 5 });
  await localBank(values, () => 9).pay({ ...payment, effectKey: "k2" }, signal);
  assertEquals((await localBank(values, () => 9).entries()).map(({ effectKey }) => effectKey), ["k1", "k2"]);
});

Deno.test("remoteBank() sends the key; an answer that does not come leaves the outcome unknown", async () => {
  const asked: unknown[] = [];
  const payment = { effectKey: "k1", to: "alice", amount: "10" };
  const fetch = (_path: unknown, init?: RequestInit) => {
    asked.push(JSON.parse(String(init?.body)));
    return Promise.resolve(Response.json({ ...payment, time: 1 }));
  };
  const { signal } = new AbortController();
  assertEquals(await remoteBank("/bank", fetch).pay(payment, signal), { ...payment, time: 1 });
  assertEquals(asked, [payment]);
  const codeOf = async (fetch: () => Promise<Response>) =>
    (await assertRejects(() => remoteBank("/bank", fetch).pay(payment, signal)) as { code?: string }).code;
  assertEquals(await codeOf(() => Promise.reject(new TypeError("network"))), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(await codeOf(() => Promise.resolve(new Response("", { status: 502 }))), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(await codeOf(() => Promise.resolve(new Response("", { status: 409 }))), "REFUSED");
});

Deno.test("bankPath() takes a path of the same origin, and nothing else", () => {
  const of = (query: string) => bankPath(`https://a.test/worker.js?${query}`);
  assertEquals(of("bank=/pay"), "/pay");
  assertEquals([of(""), of("bank=pay"), of("bank=//b.test/pay"), of("bank=https://b.test/")], [null, null, null, null]);
  assertEquals(of("bank=/\\b.test/pay"), null);
});

Deno.test("payTool() is keyed, asks with amount and name, and pays under its key", async () => {
  const values = memoryValues();
  const tool = payTool(localBank(values, () => 1));
  const args = { to: "alice", amount: "9.50" };
  assertEquals(tool.effectOf(args), "keyed");
  assertEquals(await tool.permissionFor(args, "keyed"), { decision: "ask", reason: 'pay 9.50 to "alice"' });
});
