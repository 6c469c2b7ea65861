/**
 * A server of tools, written by hand: JSON-RPC and nothing else. Friendly where a test needs that, hostile where it needs that.
 *
 * Run as a program it speaks through standard input and output: `bank_server.ts LOG [LIST]`. LOG is a file that gets one line for
 * each call and each cancel, LIST the name of a list below.
 *
 * @module
 */

/** A message of JSON-RPC. */
export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any -- what a client sends is looked at by tests
  readonly params?: any;
  // deno-lint-ignore no-explicit-any -- as above
  readonly error?: any;
}

/** What a server can do beside answering. */
export interface World {
  /** Keeps a line: what was called, with which arguments and `_meta`. */
  note(line: unknown): void;
  /** Asks the client something and resolves with its answer. */
  ask(message: Message): Promise<Message>;
  /** Ends the server, or the connection, without an answer. */
  die(): Promise<never>;
  /** The name of the list that it shows. */
  readonly list: string;
}

const anything = { type: "object" };
const amount = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };

/** What it lists. Its words about itself are lies, as far as anybody knows. */
const TOOLS = [
  {
    name: "pay",
    description: "Pays somebody",
    inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    outputSchema: amount,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  },
  { name: "lie", description: "Answers with another value than promised", inputSchema: anything, outputSchema: amount },
  ...["hang", "die", "show", "nonsense", "fail", "error", "big", "sample"].map((name) => ({
    name,
    description: `Does ${name}`,
    inputSchema: anything,
  })),
];

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `t${index}`, inputSchema: anything }));

// deno-lint-ignore no-explicit-any -- hostile lists hold anything
const LISTS: Record<string, (cursor: string | undefined) => any> = {
  usual: () => ({ tools: TOOLS }),
  pages: (cursor) => cursor === undefined ? { tools: [TOOLS[0]], nextCursor: "2" } : { tools: TOOLS.slice(1) },
  endless: () => ({ tools: [], nextCursor: "more" }),
  many: () => ({ tools: many(513) }),
  none: () => ({ tools: "many" }),
  odd: () => ({
    tools: [
      { name: "fine", description: `\u001b[2Jfine${"x".repeat(10_000)}`, inputSchema: anything },
      { name: "get.user", inputSchema: anything },
      { name: "get/user", inputSchema: anything },
      { name: "y".repeat(100), inputSchema: anything },
      { name: "no_schema" },
      { name: "loop", inputSchema: { $ref: "#" } },
      { name: "validator", inputSchema: { "~standard": { version: 1 }, type: "object" } },
      { name: 7, inputSchema: anything },
      null,
    ],
  }),
};

const text = (said: string) => ({ content: [{ type: "text", text: said }] });

/** Answers one message; `null` when there is nothing to answer. */
export async function answer(message: Message, world: World): Promise<unknown> {
  const { id, method, params } = message;
  if (method === "notifications/cancelled") world.note({ cancelled: params?.requestId });
  if (id === undefined || method === undefined) return null;
  const result = (result: unknown) => ({ jsonrpc: "2.0", id, result });
  switch (method) {
    case "initialize":
      return result({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "b", version: "1" },
      });
    case "tools/list":
      return result(LISTS[world.list]!(params?.cursor));
    case "tools/call": {
      world.note({ call: params.name, arguments: params.arguments, meta: params._meta, id });
      if (params.name === "error") {
        return { jsonrpc: "2.0", id, error: { code: params.arguments.code, message: "no\u0007 luck" } };
      }
      return result(await called(params.name, params.arguments, world));
    }
    default:
      return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
  }
}

// deno-lint-ignore no-explicit-any -- arguments of any tool
async function called(name: string, args: any, world: World): Promise<unknown> {
  switch (name) {
    case "pay":
      return { ...text(`paid ${args.to}`), structuredContent: { amount: 10 } };
    case "lie":
      return { content: [], structuredContent: args.value };
    case "hang":
      return await new Promise<never>(() => {});
    case "die":
      return await world.die();
    case "show":
      return { content: args.content, structuredContent: args.structured };
    case "nonsense":
      return args.result;
    case "fail":
      return { ...text("no such account"), isError: true };
    case "big":
      return text("x".repeat(args.size));
    case "sample": {
      const { error } = await world.ask({ id: "s1", method: "sampling/createMessage", params: { messages: [] } });
      return text(`refused with ${error.code}`);
    }
    default:
      return { ...text(`no tool ${name}`), isError: true };
  }
}

/** Speaks through standard input and output until its input ends. */
async function main(log: string, list: string): Promise<void> {
  const encoder = new TextEncoder();
  const write = (message: unknown) => {
    const bytes = encoder.encode(`${JSON.stringify(message)}\n`);
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  };
  const asked = new Map<unknown, (message: Message) => void>();
  const world: World = {
    list,
    note: (line) => Deno.writeTextFileSync(log, `${JSON.stringify(line)}\n`, { append: true }),
    ask(message) {
      write({ jsonrpc: "2.0", ...message });
      return new Promise((resolve) => asked.set(message.id, resolve));
    },
    die: () => Deno.exit(9),
  };
  let rest = "";
  for await (const part of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const message = JSON.parse(line) as Message;
      if (message.method === undefined) asked.get(message.id)?.(message);
      else answer(message, world).then((found) => found === null || write(found));
    }
  }
}

if (import.meta.main) {
  console.error("ready\u001b[31m");
  await main(Deno.args[0]!, Deno.args[1] ?? "usual");
}
