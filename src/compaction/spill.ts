/**
 * Spilling: the text of a long result goes into a blob beside the log, and the log, and the model, get a preview of it.
 *
 * The blob is durable before the event that names it is in the log, so that no log ever names what is not there; a crash between
 * the two leaves a blob that nobody names. It is content-addressed and lies with its session: another session does not find it,
 * and it is deleted with its own.
 *
 * @see compaction §6
 * @module
 */
import { hasCode } from "../errors.ts";
import type { Block, EventData } from "../event/mod.ts";
import type { Session } from "../session/mod.ts";
import { priceOfText } from "../fold/mod.ts";
import { type KeepContent, OUTPUT_SIZE_MAX } from "../tool/mod.ts";
import { spillLocator } from "./locator.ts";
import { previewOf, utf8Length } from "./spill_preview.ts";

/** How much text of a result the log and the model get inline unless the host says otherwise, in bytes of UTF-8. */
export const INLINE_BYTES_MAX = 50_000;

/** Which part of the model's window one result takes at most, where the window is known: four of them still leave it room. */
export const RESULT_SHARE_MAX = 0.25;

/**
 * Tools whose results are not spilled for their bytes: what they read would only be spilled again. What takes too much of the
 * model's window is spilled all the same.
 */
export const UNSPILLED_TOOLS: ReadonlySet<string> = new Set(["read", "read_file"]);

/** The name of the tool that reads what was spilled. Its results never are. */
export const READ_RESULT = "read_result";

/** How results are spilled. */
export interface SpillOptions {
  /** A result with more text than this, in bytes of UTF-8, is spilled. Default INLINE_BYTES_MAX. */
  readonly maxInlineBytes?: number;
}

/** How much one result may be. */
export interface InlineBounds {
  /** In bytes of UTF-8. */
  readonly maxInlineBytes: number;
  /** In tokens, by our own estimate. Default: any number. */
  readonly maxInlineTokens?: number;
}

/** Which result it is. */
export interface SpillSource {
  /** The call it answers. */
  readonly callId: string;
  /** seq of that call's `tool/call` or `tool/ptc-dispatch-start`. */
  readonly callSeq: number;
}

/**
 * Checks options.
 *
 * @throws {RangeError} when `maxInlineBytes` is not a whole number from 0
 *
 * @example
 * ```ts
 * import { checkedSpillOptions, INLINE_BYTES_MAX } from "./spill.ts";
 *
 * if (checkedSpillOptions({}).maxInlineBytes !== INLINE_BYTES_MAX) throw new Error("unreachable");
 * ```
 */
export function checkedSpillOptions({ maxInlineBytes = INLINE_BYTES_MAX }: SpillOptions): Required<SpillOptions> {
  if (Number.isSafeInteger(maxInlineBytes) && maxInlineBytes >= 0) return { maxInlineBytes };
  throw new RangeError(`Cannot spill over ${String(maxInlineBytes)} bytes: not a whole number from 0`);
}

/**
 * Spills the long results of one session's calls. Of a nested call that is the copy in the log: the body that made it got it whole.
 *
 * @param windowTokens how large the model's window is now; `null` when nobody knows
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import type { KeepContent } from "../tool/mod.ts";
 * import { checkedSpillOptions, spillInto } from "./spill.ts";
 *
 * function keeperOf(session: Session): KeepContent {
 *   return spillInto(session, checkedSpillOptions({ maxInlineBytes: 10_000 }));
 * }
 * ```
 */
export function spillInto(
  session: Session,
  { maxInlineBytes }: Required<SpillOptions>,
  windowTokens: () => number | null = () => null,
): KeepContent {
  return async ({ name, isNested, callId, callSeq }, content) => {
    // A part of a spilled result, which the tool has fitted into the window. Spilled, nobody could ever read it.
    if (name === READ_RESULT && !isNested) return null;
    // The model does not read the result of a nested call, so that its window means nothing to it.
    if (isNested) return await spillContent(session, { callId, callSeq }, content, { maxInlineBytes });
    const maxInlineTokens = resultTokensMax(windowTokens());
    const maxBytes = UNSPILLED_TOOLS.has(name) ? Infinity : maxInlineBytes;
    return await spillContent(session, { callId, callSeq }, content, { maxInlineBytes: maxBytes, maxInlineTokens });
  };
}

/**
 * How many tokens one result may take.
 *
 * @param windowTokens `null` when nobody knows how large the window is
 *
 * @example
 * ```ts
 * import { resultTokensMax } from "./spill.ts";
 *
 * if (resultTokensMax(32_000) !== 8_000 || resultTokensMax(null) !== Infinity) throw new Error("unreachable");
 * ```
 */
export function resultTokensMax(windowTokens: number | null): number {
  return windowTokens === null ? Infinity : Math.floor(windowTokens * RESULT_SHARE_MAX);
}

/**
 * Spills a content of nothing but text, when it is over the limit. Best effort: where the medium does not take the blob, the
 * result stays as it is, unless it is so large that no log would take it; then it is cut, and says so.
 *
 * @returns what is logged and shown instead; `null` when the content stays
 *
 * @example
 * ```ts
 * import type { Session } from "../session/mod.ts";
 * import { spillContent } from "./spill.ts";
 *
 * async function keep(session: Session, callSeq: number, text: string): Promise<boolean> {
 *   const content = [{ type: "text" as const, text }];
 *   return await spillContent(session, { callId: "c1", callSeq }, content, { maxInlineBytes: 800 }) !== null;
 * }
 * ```
 */
export async function spillContent(
  session: Session,
  source: SpillSource,
  content: readonly Block[],
  { maxInlineBytes, maxInlineTokens = Infinity }: InlineBounds,
): Promise<readonly Block[] | null> {
  const text = textOf(content);
  if (text === null || (text.length * 3 <= maxInlineBytes && text.length <= maxInlineTokens)) return null;
  const sizeBytes = utf8Length(text);
  const tokens = maxInlineTokens === Infinity ? 0 : priceOfText(text);
  if (sizeBytes <= maxInlineBytes && tokens <= maxInlineTokens) return null;
  // So many bytes of this text take about so many tokens.
  const fittingBytes = tokens <= maxInlineTokens ? Infinity : Math.floor(sizeBytes * maxInlineTokens / tokens);

  const kept = await keep(session, text).catch(() => null);
  const shown = (locator: string | null) =>
    previewOf(text, sizeBytes, {
      sizeBytesMax: Math.min(maxInlineBytes, fittingBytes),
      notice: (omittedBytes) => spillNotice(omittedBytes, sizeBytes, locator),
    });
  if (kept !== null) {
    const preview = shown(spillLocator(kept.digest));
    if (preview !== null && await isNamed(session, source, kept)) return [{ type: "text", text: preview }];
  }
  if (text.length <= OUTPUT_SIZE_MAX / 2) return null;
  const preview = shown(null);
  return preview === null ? null : [{ type: "text", text: preview }];
}

/** Puts the blob's name into the log. One that the log does not take stays a blob that nobody names. */
async function isNamed(session: Session, { callId, callSeq }: SpillSource, kept: Kept): Promise<boolean> {
  const name = () => session.append({ type: "result/spilled", data: { callId, callSeq, ...kept }, ignorable: true });
  try {
    name();
    return true;
  } catch (error) {
    if (!hasCode(error, "BUFFER_FULL")) return false;
  }
  try {
    await session.flush();
    name();
    return true;
  } catch {
    return false;
  }
}

/**
 * What stands behind a preview.
 *
 * @param locator `null` when the text could not be kept
 *
 * @example
 * ```ts
 * import { spillNotice } from "./spill.ts";
 *
 * if (!spillNotice(10, 90, "blob:0123456789abcdef").includes("blob:")) throw new Error("unreachable");
 * ```
 */
export function spillNotice(omittedBytes: number, sizeBytes: number, locator: string | null): string {
  const place = locator === null
    ? "they could not be kept"
    : `the whole text is ${locator}, and read_result reads any part of it`;
  return `[${omittedBytes} of ${sizeBytes} bytes are left out here; ${place}]`;
}

/**
 * The text of a blob that a `result/spilled` names, as it was before it was spilled.
 *
 * @throws {NotFoundError} when it is not there
 *
 * @example
 * ```ts
 * import type { SpilledText } from "../fold/mod.ts";
 * import type { Session } from "../session/mod.ts";
 * import { spilledText } from "./spill.ts";
 *
 * async function lengthOf(session: Session, spilled: SpilledText): Promise<number> {
 *   return (await spilledText(session, spilled)).length;
 * }
 * ```
 */
export async function spilledText(
  session: Pick<Session, "getBlob">,
  { digest, encoding }: Pick<EventData["result/spilled"], "digest" | "encoding">,
): Promise<string> {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await session.getBlob(digest));
  return encoding === "json" ? JSON.parse(text) as string : text;
}

type Kept = Pick<EventData["result/spilled"], "digest" | "sizeBytes" | "encoding">;

/** UTF-8 has no halves of characters, JSON has escapes for them. */
async function keep(session: Session, text: string): Promise<Kept> {
  const isPlain = text.isWellFormed();
  const bytes = new TextEncoder().encode(isPlain ? text : JSON.stringify(text));
  const digest = await session.putBlob(bytes);
  return { digest, sizeBytes: bytes.length, ...(isPlain ? {} : { encoding: "json" as const }) };
}

/** `null` when there is anything else in it. */
function textOf(content: readonly Block[]): string | null {
  const texts = content.map((block) => block.type === "text" ? block.text : null);
  return texts.length === 0 || texts.includes(null) ? null : texts.join("\n");
}
