/**
 * Calls whose outcome nobody knows, for a person to settle: the evidence in plain words, and three buttons.
 *
 * @module
 */
import type { EffectClass } from "../../mod.ts";
import { useState } from "preact/hooks";
import type { BankEntry, OpenUnknown, SettleVerdict } from "../protocol.ts";
import { shortName, ToolName } from "./long_text.tsx";
import { JsonText } from "./json_text.tsx";
import { prettyJson } from "./pretty_json.ts";
import { BANK_TOOL, bankVerdict, contradicts } from "./bank.tsx";

const RETRY_TEXT: Readonly<Record<EffectClass, string>> = {
  none: "It has no effect, so running it again is harmless.",
  idempotent: "It is idempotent: running it again leaves the world as running it once.",
  keyed: "It is keyed: the target recognises the key, so a retry is not done twice.",
  opaque: "It is opaque: nothing protects from a second effect, so look first.",
};

interface UnknownProps {
  /** What the pretend bank held when it was asked last; `null`: not known. */
  readonly bank: readonly BankEntry[] | null;
  /** Asks the pretend bank now. */
  readonly askBank: () => Promise<readonly BankEntry[] | null>;
  readonly isReadOnly: boolean;
  /** Resolves when the verdict is written or refused. */
  readonly onSettle: (callSeq: number, verdict: SettleVerdict, note: string) => Promise<unknown>;
  readonly onSeq: (seq: number) => void;
}

/** Draws every unknown of a session. */
export function Unknowns({ unknowns, ...props }: UnknownProps & { readonly unknowns: readonly OpenUnknown[] }) {
  return <>{unknowns.map((unknown) => <Unknown key={unknown.callSeq} unknown={unknown} {...props} />)}</>;
}

function Unknown({ unknown, bank, askBank, isReadOnly, onSettle, onSeq }: UnknownProps & {
  readonly unknown: OpenUnknown;
}) {
  const [note, setNote] = useState("");
  const [isSettling, setSettling] = useState(false);
  /** A verdict that the bank contradicts, and that a person must give twice. */
  const [doubt, setDoubt] = useState<{ readonly verdict: SettleVerdict; readonly words: string } | null>(null);
  const { callSeq, toolName, dispatchedSeq, effect, effectKey, argumentsText, isRetryAllowed } = unknown;
  const settle = async (verdict: SettleVerdict) => {
    if (isSettling) return;
    setSettling(true);
    const book = await askBank();
    const isDoubted = verdict !== doubt?.verdict && contradicts(book, unknown, verdict);
    setDoubt(isDoubted ? { verdict, words: bankVerdict(book!, effectKey!) } : null);
    if (!isDoubted) await onSettle(callSeq, verdict, note.trim());
    setSettling(false);
  };
  const title = `unknown-${callSeq}`;
  const isOff = isReadOnly || isSettling;
  return (
    <section class="card unknown" aria-labelledby={title} tabIndex={-1}>
      <h3 id={title}>
        Did <ToolName name={toolName} /> happen? The log cannot tell.
      </h3>
      <p>
        {dispatchedSeq === null ? "It was recorded by a writer that keeps no barriers, and has no result." : (
          <>
            Event <button type="button" class="link" onClick={() => onSeq(dispatchedSeq)}>{dispatchedSeq}</button>{" "}
            says “it starts now”, and no result of it was written before the crash.
          </>
        )} So it may have run, wholly, partly or not at all. {RETRY_TEXT[effect]}
      </p>
      {effectKey !== null && bank !== null && toolName === BANK_TOOL && (
        <p class="truth">{bankVerdict(bank, effectKey)}</p>
      )}
      <details>
        <summary>What it was told to do</summary>
        <JsonText text={prettyJson(argumentsText)} label={`Arguments of ${shortName(toolName)}`} />
        <p class="facts">
          effect {effect}, {effectKey === null ? "no key" : (
            <>
              key <code>{effectKey}</code>
            </>
          )}
        </p>
      </details>
      <label class="note">
        How do you know? (optional){" "}
        <input type="text" value={note} onInput={(event) => setNote(event.currentTarget.value)} />
      </label>
      <div class="choices">
        <button type="button" disabled={isOff} onClick={() => settle("happened")}>
          {doubt?.verdict === "happened" ? "It happened all the same" : "It happened"}
        </button>
        <button type="button" disabled={isOff} onClick={() => settle("absent")}>
          {doubt?.verdict === "absent" ? "It did not happen all the same" : "It did not happen"}
        </button>
        {!isRetryAllowed && (
          <button type="button" disabled={isOff} onClick={() => settle("retry")}>Allow a retry</button>
        )}
      </div>
      {isRetryAllowed && (
        <p class="allowed" role="status">
          A retry is allowed. Tell the agent to do it again: it runs under the same key.
        </p>
      )}
      {doubt !== null && (
        <p class="doubt" role="alert">That is not what its book says: {doubt.words} Press again if you know better.</p>
      )}
    </section>
  );
}
