/**
 * Calls whose outcome nobody knows, for a person to settle: the evidence in plain words, and three buttons.
 *
 * @module
 */
import type { EffectClass } from "../../mod.ts";
import { useState } from "preact/hooks";
import type { BankEntry, OpenUnknown, SettleVerdict } from "../protocol.ts";
import { JsonText, prettyJson } from "./json_text.tsx";
import { bankVerdict } from "./bank.tsx";

const RETRY_TEXT: Readonly<Record<EffectClass, string>> = {
  none: "It has no effect, so running it again is harmless.",
  idempotent: "It is idempotent: running it again leaves the world as running it once.",
  keyed: "It is keyed: the target recognises the key, so a retry is not done twice.",
  opaque: "It is opaque: nothing protects from a second effect, so look first.",
};

/** Draws every unknown of a session. */
export function Unknowns({ unknowns, bank, isReadOnly, onSettle, onSeq }: {
  readonly unknowns: readonly OpenUnknown[];
  readonly bank: readonly BankEntry[];
  readonly isReadOnly: boolean;
  readonly onSettle: (callSeq: number, verdict: SettleVerdict, note: string) => void;
  readonly onSeq: (seq: number) => void;
}) {
  return (
    <>
      {unknowns.map((unknown) => <Unknown key={unknown.callSeq} {...{ unknown, bank, isReadOnly, onSettle, onSeq }} />)}
    </>
  );
}

function Unknown({ unknown, bank, isReadOnly, onSettle, onSeq }: {
  readonly unknown: OpenUnknown;
  readonly bank: readonly BankEntry[];
  readonly isReadOnly: boolean;
  readonly onSettle: (callSeq: number, verdict: SettleVerdict, note: string) => void;
  readonly onSeq: (seq: number) => void;
}) {
  const [note, setNote] = useState("");
  const { callSeq, toolName, dispatchedSeq, effect, effectKey, argumentsText } = unknown;
  const settle = (verdict: SettleVerdict) => onSettle(callSeq, verdict, note.trim());
  const title = `unknown-${callSeq}`;
  return (
    <section class="card unknown" aria-labelledby={title}>
      <h3 id={title}>
        Did <span class="tool">{toolName}</span> happen? The log cannot tell.
      </h3>
      <p>
        {dispatchedSeq === null ? "It was recorded by a writer that keeps no barriers, and has no result." : (
          <>
            Event <button type="button" class="link" onClick={() => onSeq(dispatchedSeq)}>{dispatchedSeq}</button>{" "}
            says “it starts now”, and no result of it was written before the crash.
          </>
        )} So it may have run, wholly, partly or not at all. {RETRY_TEXT[effect]}
      </p>
      {effectKey !== null && <p class="truth">{bankVerdict(bank, effectKey)}</p>}
      <details>
        <summary>What it was told to do</summary>
        <JsonText text={prettyJson(argumentsText)} label={`Arguments of ${toolName}`} />
        <p class="facts">
          effect {effect}, {effectKey === null ? "no key" : (
            <>
              key <code>{effectKey}</code>
            </>
          )}
        </p>
      </details>
      <label class="note">
        How do you know? <input type="text" value={note} onInput={(event) => setNote(event.currentTarget.value)} />
      </label>
      <div class="choices">
        <button type="button" disabled={isReadOnly} onClick={() => settle("happened")}>It happened</button>
        <button type="button" disabled={isReadOnly} onClick={() => settle("absent")}>It did not happen</button>
        <button type="button" disabled={isReadOnly} onClick={() => settle("retry")}>Allow a retry</button>
      </div>
    </section>
  );
}
