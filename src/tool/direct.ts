/**
 * A call that a host makes itself, outside of any session: for tests of a tool, and for tools that are useful without a model.
 *
 * @see execution §3.3; rulings 26
 * @module
 */
import { Hooks } from "../hooks/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import { givenValue } from "./arguments.ts";
import type { ToolHooks } from "./hooks.ts";
import type { ToolOutcome } from "./outcome.ts";
import { dispatch, prepare } from "./phases.ts";
import type { RecordedCall } from "./record.ts";
import { finalOutcome } from "./review.ts";
import type { Guard, Host } from "./scene.ts";
import type { Tool } from "./tool.ts";

/** How a tool is called outside of a session. */
export interface DirectCallOptions {
  /** For the tool's time limit. */
  readonly clock: Clock;
  /** For the effect key. */
  readonly random: Random;
  /** Default: never aborts. */
  readonly signal?: AbortSignal;
  /** What its body may call. Default: nothing. */
  readonly tools?: readonly Tool[];
  /** Each can only deny. Default: none. */
  readonly guards?: readonly Guard[];
  /** Only listeners that are bound to no session hear it. */
  readonly hooks?: Hooks<ToolHooks>;
}

/**
 * Calls a tool outside of any session: the whole pipeline, but nothing is logged and nothing is durable, so that after a crash
 * nobody can say what happened. What would ask is refused, because there is no record to ask on.
 *
 * @param args lossless JSON; read once
 * @returns how it ended; never rejects
 *
 * @example
 * ```ts
 * import { callTool } from "./direct.ts";
 * import { defineTool } from "./tool.ts";
 *
 * const runtime = {
 *   clock: { now: () => 0, schedule: () => () => {} },
 *   random: { bytes: (size: number) => new Uint8Array(size) },
 * };
 * const add = defineTool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
 *   effect: "none",
 *   output: { schema: { type: "number" }, render: (_args, sum) => `${sum}` },
 *   execute: (args) => (args as { a: number }).a + (args as { b: number }).b,
 * });
 * if ((await callTool(add, { a: 1, b: 2 }, runtime)).value !== 3) throw new Error("unreachable");
 * if ((await callTool(add, { a: 1 }, runtime)).error?.code !== "INVALID_ARGS") throw new Error("unreachable");
 * ```
 */
export async function callTool(tool: Tool, args: unknown, options: DirectCallOptions): Promise<ToolOutcome> {
  const { clock, random, signal = new AbortController().signal, tools = [], guards = [] } = options;
  const given = givenValue(args);
  const host: Host = {
    session: null,
    tools: new Map([...tools, tool].map((each) => [each.name, each])),
    guards,
    hooks: options.hooks ?? new Hooks<ToolHooks>(),
    approvers: [],
    policy: "never",
    signal,
    clock,
    random,
  };
  const callId = `direct-${tool.name}`;
  const call: RecordedCall = {
    turn: 0,
    step: 0,
    callId,
    rootCallId: callId,
    parentCallId: null,
    providerCallId: "",
    name: tool.name,
    arguments: given.ok ? given.text : "",
    depth: 0,
    callSeq: -1,
  };
  const { facts, end } = await dispatch(await prepare(call, given, host), host);
  return await finalOutcome({ ...facts, host }, end);
}
