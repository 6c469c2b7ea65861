/**
 * The pack of tools as a run of the lab uses it. Knows no runtime.
 *
 * @module
 */
import type { JsonObject, Tool } from "../../mod.ts";
import { httpPutTool } from "../../src/tools/pack/http_put.ts";
import { httpTarget } from "../../src/tools/pack/http_target.ts";
import { sendMailTool } from "../../src/tools/pack/outbox.ts";
import { payTool } from "../../src/tools/pack/payment.ts";
import { sandboxTool } from "../../src/tools/sandbox_exec.ts";
import type { Failpoints, TraceSink } from "./lab_failpoints.ts";
import type { LabCall } from "./lab_plan.ts";

/** The version that every resource has first. */
export const FIRST_ETAG = '"v1"';

/** The branch to which a session commits. */
export function branchOf(sessionId: string): string {
  return `of-${sessionId}`;
}

/** The arguments of a call. They hold its id, so that its target knows it. */
export function argumentsOf(
  { id, tool }: Pick<LabCall, "id" | "tool">,
  { origin, sessionId, etag = FIRST_ETAG }: { origin: string; sessionId: string; etag?: string },
): JsonObject {
  switch (tool) {
    case "pay":
      return { to: id, amount: 10 };
    case "send_mail":
      return { to: "somebody@mail.example", subject: id, text: "hello" };
    case "http_put":
      return { url: `${origin}/resources/${id}`, etag, body: `put by ${id}` };
    case "shell":
      return { command: `echo ${id}` };
    case "git_commit":
      return { branch: branchOf(sessionId), message: id, files: { [`${id}.txt`]: `committed by ${id}` } };
    case "put_file":
      return { path: `${sessionId}/${id}.txt`, content: `written by ${id}` };
  }
}

/** The tools that work over HTTP. `token` is that of the sandbox endpoint. */
export function httpTools(origin: string, token: string, fetch: typeof globalThis.fetch): Tool[] {
  return [
    payTool(httpTarget({ url: `${origin}/bank`, fetch })),
    sendMailTool(httpTarget({ url: `${origin}/outbox`, fetch })),
    httpPutTool({ fetch }),
    sandboxTool({ endpoint: `${origin}/v1/sandbox/exec`, token, fetch }),
  ];
}

/** How a tool is put into a process that dies. */
export interface WatchedOptions {
  readonly points: Failpoints;
  readonly trace: TraceSink;
  readonly isParallel: boolean;
}

/** A tool with points at both ends of its body. */
export function watched(tool: Tool, { points, trace, isParallel }: WatchedOptions): Tool {
  return {
    ...tool,
    isConcurrencySafe: () => isParallel,
    execute: (async (args: never, call: never) => {
      const { callSeq, effectKey } = call as { callSeq: number; effectKey: string };
      trace.add(["body", Date.now(), callSeq, effectKey]);
      await points.pass("body/run/before");
      const result = await (tool.execute as (args: never, call: never) => unknown)(args, call);
      await points.pass("body/run/after");
      return result;
    }) as Tool["execute"],
  };
}
