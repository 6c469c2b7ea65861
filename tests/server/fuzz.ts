/**
 * Requests made from the OpenAPI document and then spoilt: whatever comes, the answer is a 2xx or a 4xx, and it comes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createAgent } from "../../mod.ts";
import { openFileStore, systemClock } from "../../src/entry/file.ts";
import { serve, type ServeOptions } from "../../src/server/deno.ts";
import { Refusal } from "../../src/server/problem.ts";
import { sandboxEndpoint } from "../../src/server/sandbox/routes.ts";
import { overLimits } from "../../src/tools/mod.ts";
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";
import { CountingRunner } from "./sandbox/sandbox_support.ts";
import { payStep, payTool, scriptedModel, TOKEN } from "./server_support.ts";

/** What a run came to. */
export interface FuzzReport {
  readonly requests: number;
  /** By status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** By operation, how many were answered with a 2xx. */
  readonly fine: Readonly<Record<string, number>>;
  /** Every operation of the document. */
  readonly operations: readonly string[];
  /** How many commands the sandbox endpoint started, and of how many effect keys there were. */
  readonly commands: { readonly started: number; readonly keys: number };
  readonly seconds: number;
}

/** How long one answer may take, in milliseconds. */
const ANSWER_MS_MAX = 20_000;
/** How many requests are on their way at the same time. */
const AT_ONCE = 16;

// deno-lint-ignore no-explicit-any -- a document is read as a stranger's
type Any = any;

/** Sends so many requests. @throws {Error} with the seed and the request, for the first that is answered wrong */
export async function fuzz(seed: number, count: number): Promise<FuzzReport> {
  const root = await Deno.makeTempDir({ prefix: "holdfast-fuzz-" });
  const failures: string[] = [];
  // Every second request to the model proposes a payment.
  const model = scriptedModel(
    Array.from({ length: 2 * count }, (_, index) => index % 2 === 0 ? payStep() : [{ text: "Done." }]),
  );
  const report = (error: unknown) =>
    void failures.push(error instanceof Error ? error.stack ?? error.message : String(error));
  // Commands are counted and not really run; what the host never gives is refused as it is in earnest.
  const runner = new CountingRunner();
  runner.check = (command) => {
    const refused = overLimits(command, runner.limits);
    return refused === null ? Promise.resolve() : Promise.reject(new Refusal(403, "MODE_REFUSED", refused));
  };
  const commands = sandboxEndpoint({
    clock: systemClock,
    storeFor: (id) => openFileStore({ root: `${root}/sandbox/${id}` }),
    runnerFor: () => runner,
    report,
  });
  const options: ServeOptions = {
    root,
    extraRoutes: commands.routes,
    extraOperations: commands.operations,
    tokens: [TOKEN],
    agentWith: (store, approver) => createAgent({ store, model, tools: [payTool().tool], approvers: [approver] }),
    report,
  };
  const serving = await serve(options);
  const beganMs = performance.now();
  const statuses: Record<number, number> = {};
  const fine: Record<string, number> = {};
  let names: readonly string[] = [];
  try {
    const document = await (await fetch(`${serving.origin}/openapi.json`)).json();
    const operations = Object.entries(document.paths as Record<string, Any>).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        operation: operation as Any,
      }))
    );
    names = operations.map(({ method, path }) => `${method} ${path}`);
    const known = new Known();
    let next = 0;
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (let index = next++; index < count; index = next++) {
        const random = seededRandom(seed * 1_000_003 + index);
        const operation = operations[random.below(operations.length)]!;
        const made = make(operation, random, known);
        const status = await send(serving.origin, made, known).catch((error) => {
          throw new Error(`Request ${index} of seed ${seed} (${JSON.stringify(made).slice(0, 500)}): ${error}`);
        });
        statuses[status] = (statuses[status] ?? 0) + 1;
        const name = `${operation.method} ${operation.path}`;
        if (status < 300) fine[name] = (fine[name] ?? 0) + 1;
        const isWanted = (status >= 200 && status < 300) || (status >= 400 && status < 500);
        if (!isWanted) {
          throw new Error(
            `Request ${index} of seed ${seed} got ${status}: ${JSON.stringify(made).slice(0, 500)}\n${
              failures.join("\n")
            }`,
          );
        }
      }
    }));
    if (failures.length > 0) throw new Error(`The server failed: ${failures.join("\n")}`);
  } finally {
    await serving.shutdown(0);
    await commands.close();
    await Deno.remove(root, { recursive: true });
  }
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  const ran = { started: runner.started.length, keys: EFFECT_KEYS.length };
  return { requests: count, statuses, fine, operations: names, commands: ran, seconds };
}

/** Every operation was answered with a 2xx some time, and no command ran twice under one key. */
export function checkCovers({ operations, fine, commands: { started, keys } }: FuzzReport): void {
  // What settles needs an outcome that nobody knows, and nothing dies here.
  const never = operations.filter((name) => fine[name] === undefined && name !== "POST /v1/sessions/{id}/settle");
  assertEquals(never, []);
  assert(operations.some((name) => name.includes("/v1/sandbox/exec")), "the sandbox endpoint is not described");
  assert(started > 0 && started <= keys, `${started} commands were started under ${keys} keys`);
}

/** Few enough that most are met again. */
const EFFECT_KEYS: readonly string[] = Array.from({ length: 50 }, (_, index) => index.toString(16).padStart(32, "0"));

/** What earlier answers named, so that later requests meet something. */
class Known {
  readonly ids: string[] = ["s1", "s2"];
  readonly questions: { session: string; id: string; argumentsDigest: string }[] = [];
  log = "";

  learn(method: string, path: string, text: string): void {
    if (method === "GET" && /\/export/.test(path) && text.startsWith("{")) this.log = text;
    let document: Any;
    try {
      document = JSON.parse(text);
    } catch {
      return;
    }
    if (method === "POST" && path === "/v1/sessions") this.ids.push(document.id);
    if (this.ids.length > 40) this.ids.splice(0, 20);
    const session = /^\/v1\/sessions\/([\w.-]+)\/approvals/.exec(path)?.[1];
    for (const question of document.questions ?? []) this.questions.push({ session: session!, ...question });
    if (this.questions.length > 40) this.questions.splice(0, 20);
  }
}

interface Made {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

function make(
  { path, method, operation }: { path: string; method: string; operation: Any },
  random: SeededRandom,
  known: Known,
): Made {
  const spoil = (share: number) => random.below(100) < share;
  const pick = <Item>(items: readonly Item[]) => items[random.below(items.length)]!;
  const question = known.questions.length > 0 && !spoil(20) ? pick(known.questions) : null;
  const headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` };
  const query: string[] = [];
  let target = path;
  for (const { name, in: place, schema } of operation.parameters) {
    if (place === "path") {
      const value = name === "question" && question !== null
        ? question.id
        : name === "id" && question !== null && path.includes("{question}")
        ? question.session
        : name === "id" && !spoil(15)
        ? pick(known.ids)
        : spoil(30)
        ? pick(ODD_TEXTS)
        : text(schema, random);
      target = target.replace(`{${name}}`, spoil(5) ? value : encodeURIComponent(value));
    } else if (!spoil(60)) {
      const value = spoil(30) ? pick(ODD_TEXTS) : text(schema, random);
      if (place === "query") query.push(`${name}=${encodeURIComponent(value)}`);
      else if (/^[\x20-\x7e]*$/.test(value)) headers[name] = value;
    }
  }
  if (spoil(4)) query.push(pick(["x=1", "from=1&from=2", "=", "%", "limit=%00", "after=%ff"]));
  const address = target + (query.length > 0 ? `?${query.join("&")}` : "");
  let body: string | null = null;
  const content = operation.requestBody?.content;
  if (content?.["application/json"] !== undefined) {
    headers["content-type"] = spoil(4)
      ? pick(["text/plain", "application/xml", "application/json;charset=x", ""])
      : "application/json";
    const value = valueOf(content["application/json"].schema, random, spoil(15));
    if (question !== null && path.includes("{question}") && typeof value === "object" && value !== null) {
      Object.assign(value as object, { argumentsDigest: question.argumentsDigest });
    }
    body = JSON.stringify(spoil(10) ? mutate(value, random) : value);
    if (spoil(8)) body = garble(body, random);
  } else if (content !== undefined) {
    headers["content-type"] = spoil(5) ? "text/plain" : pick(Object.keys(content));
    body = known.log === "" || spoil(20)
      ? pick(["", "x", "{}", "\u0028\u00b5/\u00fd", "{}\n{}"])
      : spoil(70)
      ? garble(known.log, random)
      : known.log;
  }
  if (spoil(3)) headers["authorization"] = pick(["", "Bearer", "Bearer x", "Basic x"]);
  if (spoil(3)) headers["origin"] = pick(["null", "https://evil.example", "x"]);
  if (spoil(6)) headers["accept"] = pick(["text/event-stream", "*/*", "text/html"]);
  const verb = spoil(4) ? pick(["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]) : method;
  return {
    method: verb,
    path: address.replace(/[^\x21-\x7e]/g, ""),
    headers,
    body: verb === "GET" || verb === "HEAD" ? null : body,
  };
}

const ODD_TEXTS: readonly string[] = [
  ...[
    "",
    " ",
    "..",
    "../..",
    "%",
    "%00",
    "\u0000",
    "é",
    "💥",
    "-1",
    "1e9",
    "NaN",
    "999999999999999999",
    "null",
    "{}",
    "'",
    '"',
  ],
  ...["a/b", "a\\b", "<script>", "x".repeat(300), "0x10", "true", "constructor", "__proto__", "toString"],
];

/** A text that fits a schema, or nearly. */
function text(schema: Any, random: SeededRandom): string {
  if (Array.isArray(schema.enum)) return String(schema.enum[random.below(schema.enum.length)]);
  if (schema.pattern === "^[0-9a-f]{32}$") return EFFECT_KEYS[random.below(EFFECT_KEYS.length)]!;
  if (schema.pattern?.includes("0-9]{")) {
    return String(random.below(3) === 0 ? random.below(100_000) : random.below(12));
  }
  return Array.from({ length: 1 + random.below(12) }, () => "abcdefgh0123456789-_."[random.below(21)]).join("");
}

/** A value that fits a schema. */
function valueOf(schema: Any, random: SeededRandom, isOdd: boolean): unknown {
  if (isOdd && random.below(3) === 0) return [null, 1, "", [], {}, true, -0.5, 1e308][random.below(8)];
  if (Array.isArray(schema.enum)) return schema.enum[random.below(schema.enum.length)];
  switch (schema.type) {
    case "object": {
      const object: Record<string, unknown> = {};
      for (const [name, member] of Object.entries(schema.properties ?? {})) {
        if (schema.required?.includes(name) || random.below(2) === 0) object[name] = valueOf(member, random, isOdd);
      }
      const ways: string[][] = (schema.oneOf ?? []).map(({ required }: { required: string[] }) => required);
      if (ways.length > 0 && !isOdd) {
        const way = ways[random.below(ways.length)]!;
        for (const name of ways.flat()) delete object[name];
        for (const name of way) object[name] = valueOf(schema.properties[name], random, isOdd);
      }
      return object;
    }
    case "array":
      return Array.from(
        { length: random.below(4) + (schema.minItems ?? 0) },
        () => valueOf(schema.items, random, isOdd),
      );
    case "integer":
      return random.below(2) === 0 ? random.below(30) : random.below(1_000_000);
    case "boolean":
      return random.below(2) === 0;
    case "string":
      if (schema.pattern === "^[0-9a-f]{64}$") return "0123456789abcdef".repeat(4);
      if (schema.maxLength > 1000) {
        return ["pay", "hello", "x".repeat(random.below(3000)), "ü💥\n\t"][random.below(4)] || "x";
      }
      return text(schema, random);
    default:
      return null;
  }
}

function mutate(value: unknown, random: SeededRandom): unknown {
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = { ...value };
  const names = Object.keys(copy);
  const name = names[random.below(Math.max(1, names.length))] ?? "x";
  const odd = [undefined, null, {}, [], "", "\ud800", Number.MAX_SAFE_INTEGER + 2, -1, [[[[]]]], { a: { b: {} } }];
  copy[random.below(4) === 0 ? "extra" : name] = odd[random.below(odd.length)];
  return copy;
}

function garble(text: string, random: SeededRandom): string {
  const at = random.below(text.length + 1);
  switch (random.below(4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at);
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + random.below(20));
    default:
      return text + text.slice(at);
  }
}

/** Sends it. A stream is read to its first bytes. @returns the status */
async function send(origin: string, { method, path, headers, body }: Made, known: Known): Promise<number> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no answer in ${ANSWER_MS_MAX} ms`)), ANSWER_MS_MAX);
  try {
    const response = await fetch(origin + path, { method, headers, body, signal: abort.signal, redirect: "manual" });
    if (response.headers.get("content-type") === "text/event-stream") {
      const reader = response.body!.getReader();
      await reader.read();
      await reader.cancel();
      return response.status;
    }
    const text = await response.text();
    if (response.status < 300) known.learn(method, path, text);
    else if (method !== "HEAD" && response.status >= 400) {
      const problem = JSON.parse(text);
      if (problem.status !== response.status || typeof problem.code !== "string") {
        throw new Error(`no problem: ${text}`);
      }
    }
    return response.status;
  } finally {
    clearTimeout(timer);
  }
}
