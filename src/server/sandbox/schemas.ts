/**
 * The shapes of what is sent to the sandbox endpoint, and what is answered.
 *
 * @module
 */
import type { JsonObject } from "../../../mod.ts";
import { COMMAND_TIMEOUT_MS_MAX, type ShellMode } from "../../tools/mod.ts";
import { EFFECT_KEY, type Schema } from "../schemas.ts";
import { ARGUMENTS_MAX, COMMAND_LENGTH_MAX, WAIT_MS_MAX } from "./limits.ts";

const ARGUMENT: JsonObject = { type: "string", maxLength: COMMAND_LENGTH_MAX, pattern: "^[^\\u0000]*$" };
const WAIT_MS: JsonObject = {
  type: "integer",
  minimum: 0,
  maximum: WAIT_MS_MAX,
  description: "How long the answer may wait for the end of the command. Default 0",
};

/** A command under an effect key. Either `argv` or `script`. */
export interface ExecBody {
  readonly effectKey: string;
  readonly argv?: readonly string[];
  readonly script?: string;
  readonly mode?: ShellMode;
  readonly network?: "off" | "on";
  readonly cwd?: string;
  readonly timeoutMs?: number;
  readonly waitMs?: number;
}

/** See {@linkcode ExecBody}. */
export const EXEC: Schema<ExecBody> = {
  type: "object",
  properties: {
    effectKey: { ...EFFECT_KEY, description: "Runs once, whatever is sent again. With another command it is refused" },
    argv: { type: "array", items: ARGUMENT, minItems: 1, maxItems: ARGUMENTS_MAX },
    script: { ...ARGUMENT, minLength: 1, description: "For `/bin/sh -c`, instead of argv" },
    mode: {
      enum: ["read-only", "workspace-write", "danger-full-access"],
      description: "What it may change; default read-only. Wider than the server allows is refused",
    },
    network: { enum: ["off", "on"], description: "Default off" },
    cwd: { ...ARGUMENT, minLength: 1, description: "A folder inside the workspace" },
    timeoutMs: { type: "integer", minimum: 1, maximum: COMMAND_TIMEOUT_MS_MAX },
    waitMs: WAIT_MS,
  },
  required: ["effectKey"],
  oneOf: [{ required: ["argv"] }, { required: ["script"] }],
  additionalProperties: false,
} as Schema<ExecBody>;

/** How long a settlement may wait for a command that runs. */
export interface SettleBody {
  readonly waitMs?: number;
}

/** See {@linkcode SettleBody}. */
export const SETTLE: Schema<SettleBody> = {
  type: "object",
  properties: { waitMs: WAIT_MS },
  additionalProperties: false,
} as Schema<SettleBody>;

/** No member at all. */
export const NOTHING: Schema<Record<never, never>> = {
  type: "object",
  properties: {},
  additionalProperties: false,
} as Schema<Record<never, never>>;
