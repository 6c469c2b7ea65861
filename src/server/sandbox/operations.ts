/**
 * What can be asked of the sandbox endpoint, for the OpenAPI document.
 *
 * @module
 */
import type { Operation } from "../openapi.ts";
import { EXEC, NOTHING, SETTLE } from "./schemas.ts";

/** For `extraOperations` of the server. A test compares it with the routes. */
export const SANDBOX_OPERATIONS: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/sandbox/exec",
    summary: "Runs a command once. A repeat returns what was recorded, or 202 while it runs",
    body: EXEC,
    answers: { 200: "Effect", 202: "Effect" },
  },
  {
    method: "get",
    path: "/v1/sandbox/exec",
    summary: "What no command is given here, whoever granted it",
    answers: { 200: "ShellLimits" },
  },
  {
    method: "get",
    path: "/v1/sandbox/exec/{effectKey}",
    summary: "Looks at an effect, and changes nothing",
    answers: { 200: "Effect" },
  },
  {
    method: "post",
    path: "/v1/sandbox/exec/{effectKey}/settle",
    summary: "Says for good what became of an effect. One that never came is absent, and never runs from then on",
    body: SETTLE,
    answers: { 200: "Effect" },
  },
  {
    method: "post",
    path: "/v1/sandbox/exec/{effectKey}/cancel",
    summary: "Ends the command of an effect, when it runs",
    body: NOTHING,
    answers: { 202: "Effect" },
  },
];
