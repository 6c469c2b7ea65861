/**
 * The runtime context: what the model should know and what changes too often for the system prompt.
 *
 * It is told behind the conversation, as a message, and only when it differs from what the conversation says already: so the
 * beginning of the conversation stays the same, which is what providers cache.
 *
 * @see execution §1.2 (4), §5
 * @module
 */
import { type Policy, policyText } from "../approval/mod.ts";
import { deepEqualJson, freezeJson, type JsonValue, type Message } from "../event/mod.ts";
import type { ApprovalPolicy, Surface } from "../fold/mod.ts";
import type { Random } from "../runtime/runtime.ts";
import { newMessageId } from "../tool/ids.ts";

/** One named piece of the runtime context. */
export interface ContextSection {
  /** Such as "approval:policy". */
  readonly name: string;
  /** Where it stands among the others, lowest first. */
  readonly order: number;
  /** What the model reads. */
  readonly text: string;
}

/** The place of the approval policy. */
export const APPROVAL_POLICY_ORDER = 115;

/**
 * The sections the loop itself knows of: the approval policy, once somebody set it to anything but the usual.
 *
 * @param configured what applies while the log sets no policy
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { ownSections } from "./runtime_context.ts";
 *
 * const { policy } = logFold.initial();
 * if (ownSections(policy, "ask").length !== 0) throw new Error("unreachable");
 * if (ownSections(policy, "never")[0]?.name !== "approval:policy") throw new Error("unreachable");
 * ```
 */
export function ownSections(logged: ApprovalPolicy, configured: Policy): ContextSection[] {
  if (logged.policy === null && configured === "ask") return [];
  return [{ name: "approval:policy", order: APPROVAL_POLICY_ORDER, text: policyText(logged.policy ?? configured) }];
}

/**
 * The message that tells the runtime context; `null` when the conversation still holds it as it is.
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { snapshotMessage } from "./runtime_context.ts";
 *
 * const random = { bytes: (size: number) => new Uint8Array(size) };
 * const { surface } = logFold.initial();
 * if (snapshotMessage(surface, [], random) !== null) throw new Error("unreachable");
 * const message = snapshotMessage(surface, [{ name: "day", order: 1, text: "Monday" }], random);
 * if (message?.source.form !== "snapshot") throw new Error("unreachable");
 * ```
 */
export function snapshotMessage(
  surface: Surface,
  context: readonly ContextSection[],
  random: Random,
): Message | null {
  const sections = context
    .toSorted((left, right) => left.order - right.order || (left.name < right.name ? -1 : 1))
    .map(({ name, text }) => ({ name, text }));
  if (deepEqualJson(retainedSections(surface), sections)) return null;
  const told = sections.map(({ name, text }) => `[${name}]\n${text}`);
  const text = [HEADING, ...(told.length === 0 ? ["(nothing)"] : told)].join("\n\n");
  return freezeJson<Message>({
    content: [{ type: "text", text }],
    source: { kind: "plugin", plugin: "holdfast", form: "snapshot", sections },
    role: "user",
    id: newMessageId(random),
  });
}

const HEADING = "Runtime context, as of now. It replaces any earlier one.";

/** What the newest snapshot in the conversation says, whoever wrote it. */
function retainedSections({ nodes }: Surface): JsonValue {
  for (let index = nodes.length - 1; index >= 0; index--) {
    const { type, message: { source } } = nodes.at(index)!;
    if (type === "user/message" && source.kind === "plugin" && source.form === "snapshot") {
      return (source.sections ?? []) as JsonValue;
    }
  }
  return [];
}
