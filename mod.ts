/**
 * Holdfast: a durable runtime for AI-agent sessions.
 *
 * It writes down what an agent is about to do before it does it, so that after a crash it can say what happened: done, not
 * started, or unknown. This is the portable core; a store comes from an entry (`./file`, `./memory`).
 *
 * @example
 * ```ts
 * import { createAgent, defineTool, scripted } from "./mod.ts";
 * import { openMemoryStore } from "./src/entry/memory.ts";
 *
 * const paid: string[] = [];
 * const pay = defineTool({
 *   name: "pay",
 *   description: "Pays somebody",
 *   parameters: { type: "object", properties: { to: { type: "string" } } },
 *   effect: "keyed",
 *   execute: (_args, call) => `paid, the ${paid.push(call.effectKey)}. time`,
 * });
 * await using store = openMemoryStore({ simulate: "disk" });
 * const model = scripted([[{ call: { name: "pay", arguments: { to: "alice" } } }], [{ text: "Paid." }]]);
 * const agent = createAgent({ store, model, tools: [pay], approvers: [() => "allowed-once"] });
 * await using session = await agent.create();
 * const outcome = await session.send("pay alice");
 * if (outcome.reason.kind !== "completed" || paid.length !== 1) throw new Error("unreachable");
 * ```
 *
 * @module
 */
export * from "./src/errors.ts";
export * from "./src/runtime/runtime.ts";
export * from "./src/storage/storage_port.ts";
export * from "./src/storage/names.ts";
export * from "./src/store/session_store.ts";
export * from "./src/store/check_spilled.ts";
export * from "./src/model/model.ts";
export * from "./src/event/mod.ts";
export * from "./src/fold/mod.ts";
export * from "./src/hooks/mod.ts";
export * from "./src/session/mod.ts";
export * from "./src/checkpoint/mod.ts";
export * from "./src/approval/mod.ts";
export * from "./src/tool/mod.ts";
export * from "./src/compaction/mod.ts";
export * from "./src/agent/mod.ts";
