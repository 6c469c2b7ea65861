/**
 * Calls whose outcome nobody knows, for a person to settle: the evidence in plain words, and three buttons.
 *
 * @module
 */
import { useState } from "preact/hooks";
import type { BankEntry, OpenUnknown, SeqPlace, SettleVerdict } from "../protocol.ts";
import { ExactText } from "./exact_text.tsx";
import { shortName, ToolName } from "./long_text.tsx";
import { JsonText } from "./json_text.tsx";
import { prettyJson } from "./pretty_json.ts";
import { Proofs } from "./proofs.tsx";
import { REPETITION_WORDS } from "./repetition.ts";
import { BANK_TOOL, bankVerdict, contradicts } from "./bank.tsx";

/** How much of the arguments a heading shows, in characters. */
const ARGUMENTS_SHOWN = 80;

interface UnknownProps {
  /** What the pretend bank held when it was asked last; `null`: not known. */
  readonly bank: readonly BankEntry[] | null;
  /** Asks the pretend bank now. */
  readonly askBank: () => Promise<readonly BankEntry[] | null>;
  /** Finds out where events lie in the log. */
  readonly askPlaces: (seqs: readonly number[]) => Promise<readonly SeqPlace[]>;
  readonly isReadOnly: boolean;
  /** Whether a person has said something since this call: then the conversation goes on below it, and the card is folded. */
  readonly isLeftBehind: (callSeq: number) => boolean;
  /** Resolves when the verdict is written or refused. */
  readonly onSettle: (callSeq: number, verdict: SettleVerdict, note: string) => Promise<unknown>;
  readonly onSeq: (seq: number) => void;
}

/** Draws every unknown of a session. */
export function Unknowns({ unknowns, ...props }: UnknownProps & { readonly unknowns: readonly OpenUnknown[] }) {
  return <>{unknowns.map((unknown) => <Unknown key={unknown.callSeq} unknown={unknown} {...props} />)}</>;
}

function Unknown({ unknown, bank, askBank, askPlaces, isReadOnly, isLeftBehind, onSettle, onSeq }: UnknownProps & {
  readonly unknown: OpenUnknown;
}) {
  const [note, setNote] = useState("");
  const [isSettling, setSettling] = useState(false);
  const [isUnfolded, setUnfolded] = useState(false);
  /** A verdict that something speaks against, and that a person must give twice. */
  const [doubt, setDoubt] = useState<{ readonly verdict: SettleVerdict; readonly words: string } | null>(null);
  const { callSeq, toolName, effect, effectKey, argumentsText, reason, proofs, isRetryAllowed } = unknown;
  const settle = async (verdict: SettleVerdict) => {
    if (isSettling) return;
    setSettling(true);
    const words = verdict === doubt?.verdict ? null : doubtAbout(unknown, verdict, await askBank());
    setDoubt(words === null ? null : { verdict, words });
    if (words === null) await onSettle(callSeq, verdict, note.trim());
    setSettling(false);
  };
  const title = `unknown-${callSeq}`;
  const isOff = isReadOnly || isSettling;
  const isFolded = isLeftBehind(callSeq) && !isUnfolded;
  const heading = (
    <h3 id={title}>
      Did <ToolName name={toolName} />{" "}
      <span class="told">
        <ExactText text={toldInShort(argumentsText)} />
      </span>{" "}
      happen? The log cannot tell.
    </h3>
  );
  if (isFolded) {
    return (
      <section class="card unknown folded" aria-labelledby={title} tabIndex={-1}>
        {heading}
        <button type="button" onClick={() => setUnfolded(true)}>Settle it</button>
      </section>
    );
  }
  return (
    <section class="card unknown" aria-labelledby={title} tabIndex={-1}>
      {heading}
      <p>
        <code>outcome_unknown</code>: {reason}. {REPETITION_WORDS[effect]}
      </p>
      <Proofs proofs={proofs} askPlaces={askPlaces} onSeq={onSeq} />
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
          <button type="button" disabled={isOff} onClick={() => settle("retry")}>
            {doubt?.verdict === "retry" ? "Allow a retry all the same" : "Allow a retry"}
          </button>
        )}
      </div>
      {isRetryAllowed && (
        <p class="allowed" role="status">
          A retry is allowed. Tell the agent to do it again: it runs once without a question
          {effectKey === null ? "." : ", under the same key."}
        </p>
      )}
      {doubt !== null && <p class="doubt" role="alert">{doubt.words}</p>}
    </section>
  );
}

/** The arguments as they were given, in one line. */
function toldInShort(argumentsText: string): string {
  const line = argumentsText.replaceAll(/\s+/g, " ").trim();
  if (line === "" || line === "{}") return "";
  const points = [...line.slice(0, 2 * ARGUMENTS_SHOWN)];
  return points.length <= ARGUMENTS_SHOWN ? line : `${points.slice(0, ARGUMENTS_SHOWN - 1).join("")}…`;
}

/** What speaks against a verdict; `null` when nothing does. */
function doubtAbout(
  unknown: OpenUnknown,
  verdict: SettleVerdict,
  bank: readonly BankEntry[] | null,
): string | null {
  if (contradicts(bank, unknown, verdict)) {
    const said = bankVerdict(bank!, unknown.effectKey!);
    return `That is not what its book says: ${said} Press again if you know better.`;
  }
  if (verdict !== "retry" || unknown.effect !== "opaque") return null;
  return "Its target cannot tell a repetition from a second effect: it may then have happened twice. Press again to allow it.";
}
