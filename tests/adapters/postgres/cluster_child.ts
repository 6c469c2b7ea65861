/**
 * One of several servers over one database: hosts agents whose model does what it is told. It is killed, and others go on. Started by
 * `cluster.ts`; its one argument is a {@linkcode ServerOrder} as JSON. Prints its port when it listens.
 *
 * @module
 */
import process from "node:process";
import {
  createAgent,
  defineTool,
  hasCode,
  type Message,
  type Model,
  OUTCOME_UNKNOWN_TEXT,
  outcomeUnknown,
  scripted,
  type ScriptStep,
  type ToolCall,
} from "../../../mod.ts";
import { serve } from "../../../src/server/deno.ts";

/** What the server shall be. */
export interface ServerOrder {
  readonly url: string;
  readonly leaseMs: number;
  readonly token: string;
  readonly root: string;
  /** Where effects happen. */
  readonly target: string;
}

/** A process that nobody kills ends by itself. */
const LIFE_MS_MAX = 900_000;

/** Calls the tool that the newest message names, once for each message: `keyed ORDER` or `opaque ORDER`. */
function clerk(): Model {
  return {
    provider: "clerk",
    id: "clerk",
    async *stream(request, signal) {
      yield* scripted([nextStep(request.messages)]).stream(request, signal);
    },
  };
}

function nextStep(messages: readonly Message[]): ScriptStep {
  const said = messages.findLastIndex(({ source }) => source.kind === "user");
  const [name, order] = textOf(messages[said]!).split(" ");
  const isDone = messages.slice(said + 1).some(({ content }) => content.some(({ type }) => type === "tool-result"));
  if (isDone || name === undefined || order === undefined) return [{ text: "Done." }];
  return [{ call: { name, arguments: { order } } }];
}

function textOf({ content }: Message): string {
  return content.map((block) => block.type === "text" ? (block as { readonly text: string }).text : "").join("");
}

function toolOf(name: "keyed" | "opaque", target: string) {
  return defineTool({
    name,
    description: `an effect that is ${name}`,
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
    effect: name,
    permission: () => ({ decision: "allow" }),
    async execute(args: unknown, { effectKey, sessionId }: ToolCall) {
      const { order } = args as { readonly order: string };
      const body = JSON.stringify({ name, order, effectKey, sessionId });
      try {
        return await (await fetch(target, { method: "POST", body })).text();
      } catch (cause) {
        throw outcomeUnknown(`${OUTCOME_UNKNOWN_TEXT} (${cause})`);
      }
    },
  });
}

const { url, leaseMs, token, root, target } = JSON.parse(process.argv[2] ?? "") as ServerOrder;
setTimeout(() => process.exit(1), LIFE_MS_MAX);
const serving = await serve({
  root,
  tokens: [token],
  database: { url, leaseMs },
  // That the database is away now and then is what is wanted here.
  report: (error) => hasCode(error, "STORAGE_LOST") || console.error(`server ${process.pid}:`, error),
  agentWith: (store) =>
    createAgent({
      store,
      model: clerk(),
      tools: [toolOf("keyed", target), toolOf("opaque", target)],
      // What is asked is whether to repeat what may have happened. Nobody says yes.
      approvers: [() => "rejected"],
      compaction: false,
    }),
});
console.log(serving.port);
