import { assertEquals, assertRejects } from "@std/assert";
import type { ToolError } from "../../../src/tool/mod.ts";
import { httpPutTool } from "../../../src/tools/pack/mod.ts";
import { bodyCall } from "../../tool/tool_support.ts";

/** A resource whose version moves with every change, or is made of its content. */
class Resource {
  content = "old";
  version = 1;
  /** What really was carried out. */
  readonly writes: string[] = [];
  readonly versions: "counted" | "hashed";
  /** Holds back the next PUT: it arrives when `land()` is called. */
  holdsNext = false;
  /** Carries out the next PUT and loses the answer. */
  losesNext = false;
  #late: (() => void) | null = null;

  constructor(versions: "counted" | "hashed" = "counted") {
    this.versions = versions;
  }

  get etag(): string {
    return this.versions === "counted" ? `"v${this.version}"` : `"${this.content}"`;
  }

  readonly fetch: typeof fetch = (_url, init = {}) => {
    if (init.method !== "PUT") {
      return Promise.resolve(new Response(this.content, { headers: { etag: this.etag } }));
    }
    const expected = new Headers(init.headers).get("if-match");
    const carryOut = () => this.#put(expected, String(init.body));
    if (this.holdsNext) {
      this.holdsNext = false;
      this.#late = carryOut;
      return Promise.reject(new TypeError("connection reset"));
    }
    const status = carryOut();
    if (this.losesNext) {
      this.losesNext = false;
      return Promise.reject(new TypeError("connection reset"));
    }
    return Promise.resolve(new Response(null, { status }));
  };

  land(): void {
    this.#late?.();
  }

  #put(expected: string | null, body: string): number {
    if (expected !== this.etag) return 412;
    this.content = body;
    this.version++;
    this.writes.push(body);
    return 204;
  }
}

const ORDER = { url: "https://files.example/a", etag: '"v1"', body: "new" };

function toolOn(resource: Resource) {
  const tool = httpPutTool({ fetch: resource.fetch });
  return {
    put: (order = ORDER) => tool.execute(order, bodyCall()) as Promise<string>,
    lookUp: async (order = ORDER) => {
      const signal = new AbortController().signal;
      return await tool.reconcile!({ effectKey: "k", args: order, effect: "idempotent", callSeq: 1, signal }) as {
        verdict: string;
      };
    },
  };
}

const codeOf = async (act: () => Promise<unknown>) => (await assertRejects(act, Error) as ToolError).code;

Deno.test("http_put replaces the version it was told, and no other", async () => {
  const resource = new Resource();
  const { put } = toolOn(resource);
  await put();
  assertEquals([resource.content, resource.writes.length], ["new", 1]);
  await put();
  assertEquals(resource.writes.length, 1, "again: it is there already");
  resource.content = "changed";
  assertEquals(await codeOf(() => put()), "CHANGED_MEANWHILE");
});

Deno.test("http_put: what arrived before the lookup happened", async () => {
  const resource = new Resource();
  const { put, lookUp } = toolOn(resource);
  resource.losesNext = true;
  assertEquals(await codeOf(() => put()), "TOOL_OUTCOME_UNKNOWN");
  assertEquals((await lookUp()).verdict, "happened");
  assertEquals(resource.writes, ["new"]);
});

Deno.test("http_put: a request that lands after the lookup finds its window closed", async () => {
  const resource = new Resource();
  const { put, lookUp } = toolOn(resource);
  resource.holdsNext = true;
  assertEquals(await codeOf(() => put()), "TOOL_OUTCOME_UNKNOWN");
  assertEquals((await lookUp()).verdict, "absent");
  resource.land();
  assertEquals([resource.content, resource.writes], ["old", ["old"]], "the lookup moved the version, nothing else");
});

Deno.test("http_put: where versions do not move a lookup that finds nothing cannot tell", async () => {
  const resource = new Resource("hashed");
  const { put, lookUp } = toolOn(resource);
  const order = { ...ORDER, etag: '"old"' };
  resource.holdsNext = true;
  await codeOf(() => put(order));
  assertEquals((await lookUp(order)).verdict, "undecidable");
  resource.land();
  assertEquals((await lookUp(order)).verdict, "happened");
});

Deno.test("http_put: replaced and changed again, or changed by others, is undecidable", async () => {
  const resource = new Resource();
  const { put, lookUp } = toolOn(resource);
  await put();
  await resource.fetch("", { method: "PUT", headers: { "if-match": resource.etag }, body: "third" });
  assertEquals((await lookUp()).verdict, "undecidable");
});

Deno.test("http_put: an answer that is no answer leaves it unknown, a refusal does not", async () => {
  const answering = (status: number) =>
    httpPutTool({ fetch: () => Promise.resolve(new Response(null, { status })) }).execute(ORDER, bodyCall()) as Promise<
      string
    >;
  assertEquals(await codeOf(() => answering(503)), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(await codeOf(() => answering(403)), undefined);
});
