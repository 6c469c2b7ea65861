/**
 * Random values for property tests.
 *
 * @module
 */
import fc from "fast-check";
import type { JsonValue } from "../../src/event/mod.ts";
import { type Sample, samples } from "./samples.ts";

/** Any string, lone surrogates and control characters included. */
export const text: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 4 }),
      fc.constantFrom("\ud83d", "\udc33", "\u2028", "\n", "\0", '"', "\\"),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join(""));

/** Any number that JSON keeps. */
export const number: fc.Arbitrary<number> = fc
  .oneof(
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(1e21, 5e-324, 0.1),
  )
  .map((value) => (Object.is(value, -0) ? 0 : value));

const key = fc.oneof(text, fc.constantFrom("__proto__", "toString", "constructor", "toJSON", "length", "0", ""));

/** Any lossless JSON value. */
export const json: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false),
    number,
    text,
    fc.array(tie("value"), { maxLength: 4 }),
    // fromEntries defines own members, "__proto__" included.
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

/** A seq that leaves room for what the samples refer to. */
export const seq: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 20, max: 60 }),
  fc.integer({ min: 20, max: Number.MAX_SAFE_INTEGER }),
);

/** A time as clocks give it, before the epoch included. */
export const time: fc.Arbitrary<number> = fc.maxSafeInteger().map((value) => (Object.is(value, -0) ? 0 : value));

/** Distinct seqs below 20: rising, or in any order. */
export const sourceSeqs: fc.Arbitrary<number[]> = fc
  .tuple(fc.uniqueArray(fc.nat({ max: 19 }), { minLength: 1, maxLength: 20 }), fc.boolean())
  .map(([seqs, isSorted]) => (isSorted ? seqs.toSorted((a, b) => a - b) : seqs));

/** Drafts that append accepts: the samples, with random payloads where the format is open. */
export const draft: fc.Arbitrary<Sample> = fc.oneof(
  fc.tuple(fc.constantFrom(...samples), fc.option(sourceSeqs), fc.boolean()).map(([sample, seqs, isIgnorable]) => ({
    ...sample,
    ...(isIgnorable ? { ignorable: true as const } : {}),
    ...(sample.sourceEventSeqs !== undefined && seqs !== null ? { sourceEventSeqs: seqs } : {}),
  })),
  fc.tuple(text, json).map(([name, data]): Sample => ({ type: `x/${name}`, ignorable: true, data })),
  fc.tuple(text, json).map(([content, meta]): Sample => ({
    type: "tool/result",
    surfaceOp: "append",
    data: {
      turn: 1,
      step: 1,
      meta,
      message: {
        id: "t",
        role: "user",
        content: [{ type: "tool-result", toolCallId: "c", content: [{ type: "text", text: content }] }],
        source: { kind: "tool", callId: "c" },
      },
    },
  })),
);
