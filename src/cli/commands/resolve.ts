/**
 * `holdfast resolve`: a person settles an effect whose outcome is unknown.
 *
 * @module
 */
import {
  closers,
  type EffectClass,
  foldEvents,
  logFold,
  NotFoundError,
  openSession,
  type SessionStore,
  settleByPerson,
  type UnresolvedEffect,
} from "../../../mod.ts";
import type { Command } from "../command.ts";
import { findSession } from "../find.ts";
import { counted, piece } from "../format.ts";
import { faultError, inspect } from "../inspect.ts";
import type { Output } from "../output.ts";
import { parseCount, type Parsed, UsageError } from "../usage.ts";

/** What each verdict says, behind "Settled: the call … ". */
const MEANING = {
  happened: "happened",
  absent: "did not happen",
  retry: "is still unknown, and the model may make it once more without a question",
} as const;

/** What a repetition does, by what the call said it may do to the world. */
const REPETITION: Readonly<Record<EffectClass, string>> = {
  none: "it changes nothing in the world",
  idempotent: "under the same key; it leaves the world as running it once does",
  keyed: "under the same key, by which its target knows that it is the same one",
  opaque: "its target cannot tell it from a second one, so that it may then happen twice",
};

/** Writes `effect/reconciled` with what a person found out. */
export const resolve: Command = {
  spec: {
    name: "resolve",
    positionals: "ID CALLSEQ --happened|--absent|--retry",
    help: "say what became of a call whose outcome is unknown; CALLSEQ is the seq of its tool/call",
    flags: {
      happened: { help: "the effect took place" },
      absent: { help: "the effect did not take place and never will" },
      retry: { help: "it stays unknown; the model may make the same call once more without a question" },
      note: { value: "TEXT", help: "how you know; the model reads it" },
    },
    count: [2, 2],
  },
  async run({ args, out, root, openStore }) {
    const verdict = verdictOf(args);
    const callSeq = parseCount("CALLSEQ", args.positionals[1]!);
    await using store = await openStore();
    const { id, name } = await findSession(store, root, args.positionals[0]!);
    // Looked up before anything is opened for writing: a mistyped seq changes nothing.
    const effect = await unresolvedEffect(store, { id, name, callSeq }, out);

    using _ = out.progress(`opening session ${id}`);
    const { session, resumed } = await openSession({ store, id });
    try {
      const event = await settleByPerson(session, { callSeq, verdict, note: args.text("note") });
      out.json({ id, callSeq, verdict, event, closers: resumed.closers });
      if (resumed.closers.length > 0) {
        out.line(`Closed the interrupted turn with ${counted(resumed.closers.length, "event")}`);
      }
      const call = `${piece(effect.name)} at seq ${callSeq} of session ${id}`;
      const told = verdict === "retry" ? `; ${REPETITION[effect.effect]}` : "";
      out.line(`${verdict === "retry" ? "Noted" : "Settled"}: the call ${call} ${MEANING[verdict]}${told}`);
    } finally {
      await session.close();
    }
    return 0;
  },
};

function verdictOf(args: Parsed): keyof typeof MEANING {
  const given = (Object.keys(MEANING) as (keyof typeof MEANING)[]).filter((name) => args.has(name));
  if (given.length !== 1) throw new UsageError("Cannot resolve: wanted one of --happened, --absent and --retry");
  return given[0]!;
}

/** The effect as it will be once the session is opened and its interrupted turn closed. */
async function unresolvedEffect(
  store: SessionStore,
  { id, name, callSeq }: { id: string; name: string; callSeq: number },
  out: Output,
): Promise<UnresolvedEffect> {
  const { reader, folds } = await inspect({ file: name, open: (options) => store.open(id, "read", options) }, out);
  await using _ = reader;
  const { fault } = reader.state();
  if (fault !== null) throw faultError(fault, `resolve a call of session "${id}"`);
  const { effects } = foldEvents(logFold, closers(folds), folds).unresolved;
  const effect = effects.find((effect) => effect.callSeq === callSeq);
  if (effect !== undefined) return effect;
  const known = effects.map((effect) => effect.callSeq).join(", ");
  throw new NotFoundError(
    `Cannot resolve call ${callSeq} of session "${id}": ${
      known === "" ? "no outcome is unknown" : `the calls whose outcome is unknown are ${known}`
    }`,
  );
}
