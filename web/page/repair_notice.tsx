/**
 * What was found when the session was opened after a crash, and what was written to close it.
 *
 * @module
 */
import type { BankEntry, RepairNotice as Notice } from "../protocol.ts";
import { verdictOutcome, type Verdicts } from "./outcome_words.ts";
import { ToolName } from "./long_text.tsx";

const CLASSES: Readonly<Record<string, { readonly words: string; readonly mark: string }>> = {
  not_started: { mark: "○", words: "only proposed. Nothing ran; the log proves it." },
  not_dispatched: { mark: "○", words: "recorded, but never started. Nothing ran; the log proves it." },
  outcome_unknown: { mark: "?", words: "started, and no result was written. It may have run: somebody has to look." },
};

/** Draws the notice. Once everything in it is settled there is only a line of it left. */
export function RepairNotice({ notice, verdicts, bank, onSeq, onClose }: {
  readonly notice: Notice;
  /** What became of its unknown outcomes since. */
  readonly verdicts: Verdicts;
  /** `null`: not known. */
  readonly bank: readonly BankEntry[] | null;
  readonly onSeq: (seq: number) => void;
  readonly onClose: () => void;
}) {
  const first = notice.closers[0]?.seq;
  const unknown = notice.calls.filter(({ class: kind }) => kind === "outcome_unknown");
  if (unknown.length > 0 && unknown.every(({ callId }) => verdicts.has(callId))) {
    return (
      <section class="card repair settled" aria-label="Repaired and settled">
        <p>
          Opened after a crash, and repaired. {unknown.map(({ callId, name }) => (
            <span key={callId}>
              <ToolName name={name} /> {verdictOutcome(verdicts.get(callId)!)}.{" "}
            </span>
          ))}
        </p>
        <button type="button" class="quiet" onClick={onClose}>Understood</button>
      </section>
    );
  }
  return (
    <section class="card repair" aria-labelledby="repair-title">
      <h3 id="repair-title">Opened after a crash, and repaired</h3>
      <p>
        {notice.closers.length === 0 ? "Nothing had to be closed." : (
          <>
            {notice.closers.length} {notice.closers.length === 1 ? "event was" : "events were"} appended
            {first !== undefined && (
              <>
                , from <button type="button" class="link" onClick={() => onSeq(first)}>event {first}</button> on
              </>
            )}. Nothing was repeated and nothing was taken back.
          </>
        )}
      </p>
      {notice.calls.length > 0 && (
        <dl class="classes">
          {notice.calls.map(({ callId, callSeq, name, class: kind }) => (
            <div key={callId}>
              <dt>
                <span aria-hidden="true">{CLASSES[kind]?.mark ?? "·"}</span> <ToolName name={name} />{" "}
                <code>{kind}</code>
              </dt>
              <dd>
                {verdicts.has(callId) ? verdictOutcome(verdicts.get(callId)!) : CLASSES[kind]?.words ?? kind}
                {callSeq !== null && (
                  <>
                    {" "}
                    <button type="button" class="link" onClick={() => onSeq(callSeq)}>event {callSeq}</button>
                  </>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {bank !== null && (
        <p class="truth">
          The pretend bank’s book, for comparison:{" "}
          {bank.length === 0 ? "no payment." : bank.map(({ amount, to }) => `${amount} to ${to}`).join(", ") + "."}
        </p>
      )}
      <button type="button" class="quiet" onClick={onClose}>Understood</button>
    </section>
  );
}
