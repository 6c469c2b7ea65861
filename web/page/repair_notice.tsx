/**
 * What was found when the session was opened after a crash, and what was written to close it.
 *
 * @module
 */
import type { BankEntry, RepairNotice as Notice } from "../protocol.ts";

const CLASSES: Readonly<Record<string, { readonly words: string; readonly mark: string }>> = {
  not_started: { mark: "○", words: "only proposed. Nothing ran; the log proves it." },
  not_dispatched: { mark: "○", words: "recorded, but never started. Nothing ran; the log proves it." },
  outcome_unknown: { mark: "?", words: "started, and no result was written. It may have run: somebody has to look." },
};

/** Draws the notice. */
export function RepairNotice({ notice, bank, onSeq, onClose }: {
  readonly notice: Notice;
  readonly bank: readonly BankEntry[];
  readonly onSeq: (seq: number) => void;
  readonly onClose: () => void;
}) {
  const first = notice.closers[0]?.seq;
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
          {notice.calls.map(({ callId, name, class: kind }) => (
            <div key={callId}>
              <dt>
                <span aria-hidden="true">{CLASSES[kind]?.mark ?? "·"}</span> <span class="tool">{name}</span>{" "}
                <code>{kind}</code>
              </dt>
              <dd>{CLASSES[kind]?.words ?? kind}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="truth">
        The pretend bank’s book, for comparison:{" "}
        {bank.length === 0 ? "no payment." : bank.map(({ amount, to }) => `${amount} to ${to}`).join(", ") + "."}
      </p>
      <button type="button" class="quiet" onClick={onClose}>Understood</button>
    </section>
  );
}
