/**
 * What the next start says about the payment: evidence, class, what asking the bank settled, and the truth beside it.
 *
 * @module
 */
import type { Look, NextStart } from "./next_start.ts";
import type { Moment } from "./payment_run.ts";
import { BANK_WORDS, FINDING_WORDS, sentence } from "./words.ts";

const VERDICT_WORDS: Readonly<Record<"happened" | "absent" | "undecidable", string>> = {
  happened:
    "The bank was asked under the key of the marker: it happened. The model reads the receipt, as if nothing had been.",
  absent:
    "The bank was asked under the key of the marker: it did not happen. Asking closed the key, so that it never will: a request that is still under way is refused.",
  undecidable: "The bank was asked, and could not tell. It stays unknown, and is asked again at the next start.",
};

/** Draws it. */
export function Verdict({ moment, look, asksBank }: {
  readonly moment: Moment;
  readonly look: Look;
  readonly asksBank: boolean;
}) {
  const { evidence, next, bankAtLast, lies } = look;
  const finding = next.kind === "refused" ? "refused" : next.given;
  const { name, sign, means } = FINDING_WORDS[finding];
  return (
    <>
      <p class={`class finding-${finding}`}>
        <span aria-hidden="true">{sign}</span> <code>{name}</code>
      </p>
      <p>{means}</p>
      <h3>Evidence</h3>
      {evidence === null ? <p class="explain">{NO_EVIDENCE[finding]}</p> : (
        <>
          <p class="explain">{sentence(evidence.reason)}</p>
          <ol class="proofs" aria-label="Evidence in the log">
            {evidence.proofs.map(({ seq, says }) => (
              <li key={seq}>
                <span class="number">event {seq}</span> {says}
              </li>
            ))}
          </ol>
        </>
      )}
      <h3>The next start</h3>
      <Next next={next} asksBank={asksBank} />
      <h3>The truth</h3>
      <p class="truth">
        When it crashed, {BANK_WORDS[moment.bank]}. In the end: {bankAtLast}.
      </p>
      <p class={lies.length === 0 ? "judged" : "judged doubt"}>
        {lies.length === 0 ? "✓ Nothing false was said." : `✕ False: ${lies.join("; ")}.`}
      </p>
    </>
  );
}

const NO_EVIDENCE: Readonly<Record<string, string>> = {
  not_proposed: "No event of the log is about a payment.",
  done: "A result follows the call: nothing has to be proved.",
  refused: "The log is read up to the damage, and everything that was acknowledged lies before it.",
};

function Next({ next, asksBank }: { readonly next: NextStart; readonly asksBank: boolean }) {
  if (next.kind === "refused") {
    return (
      <p>
        <code>{next.code}</code>: it refuses to write. <code>holdfast salvage</code> makes a copy that goes on.
      </p>
    );
  }
  const { verdict, appended, salvagedEvents, modelReads, given } = next;
  const isAsked = given === "outcome_unknown" && verdict === null;
  return (
    <>
      {salvagedEvents > 0 && (
        <p>{salvagedEvents} {salvagedEvents === 1 ? "event" : "events"} of the torn write could be kept.</p>
      )}
      {verdict !== null && <p class={`settled-${verdict}`}>{VERDICT_WORDS[verdict]}</p>}
      {isAsked && (
        <p>
          {asksBank ? "Nobody could be asked." : "Nobody asks the bank."}{" "}
          It stays unknown until a person looks, and says so in the page or with <code>holdfast resolve</code>.
        </p>
      )}
      <p>
        {appended.length === 0
          ? "Nothing has to be closed."
          : `It appends ${appended.map(({ type }) => type).join(", ")}.`} Nothing is repeated by itself.
      </p>
      {modelReads !== null && (
        <p>
          The model reads: <q>{modelReads}</q>
        </p>
      )}
    </>
  );
}
