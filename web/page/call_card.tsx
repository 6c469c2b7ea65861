/**
 * One call: what it was asked to do, and the trail of evidence that the log holds for it.
 *
 * @module
 */
import type { CallItem } from "./conversation_items.ts";
import { LongText, shortName, ToolName } from "./long_text.tsx";
import { JsonText } from "./json_text.tsx";
import { prettyJson } from "./pretty_json.ts";
import { outcomeOf, resultWords, STEP_NAMES, verdictWords } from "./outcome_words.ts";

/** How much of a result is drawn before it is unfolded, in UTF-16 units. */
const RESULT_LENGTH_MAX = 600;

interface Step {
  readonly name: string;
  readonly seq: number | null;
  /** What the step means while it is the last one. */
  readonly title: string;
}

/** Draws a call. */
export function CallCard({ call, durableSeq, onSeq }: {
  readonly call: CallItem;
  readonly durableSeq: number;
  /** Asked to show an event of the log. */
  readonly onSeq: (seq: number) => void;
}) {
  const { result } = call;
  return (
    <article class="call" aria-label={`Call of ${shortName(call.name)}`}>
      <header>
        <ToolName name={call.name} />
        <span class="outcome">{outcomeOf(call)}</span>
      </header>
      <ol class="trail" aria-label="Evidence in the log">
        {stepsOf(call).map(({ name, seq, title }) => (
          <li key={name} class={seq === null ? "none" : seq <= durableSeq ? "durable" : "pending"} title={title}>
            {seq === null ? <span>{name}</span> : (
              <button
                type="button"
                onClick={() => onSeq(seq)}
              >
                <span class="mark" /> {name} <span class="number">{seq}</span>
              </button>
            )}
          </li>
        ))}
      </ol>
      <details>
        <summary>Arguments</summary>
        <JsonText text={prettyJson(call.argumentsText)} label={`Arguments of ${shortName(call.name)}`} />
        {call.dispatched !== null && (
          <p class="key">
            effect {call.dispatched.effect}, key <code>{call.dispatched.effectKey}</code>
            {call.dispatched.isRetry && " (a retry, under the first key)"}
          </p>
        )}
      </details>
      {result !== null && resultWords(call) === null && <Result text={result.text} isError={result.isError} />}
      {resultWords(call) !== null && <p class="result">{resultWords(call)}</p>}
      {call.verdict !== null && call.retriedSeq === null && <p class="result">{verdictWords(call.verdict)}</p>}
    </article>
  );
}

function Result({ text, isError }: { readonly text: string; readonly isError: boolean }) {
  if (text.length <= RESULT_LENGTH_MAX) return <pre class={isError ? "result error" : "result"}>{text}</pre>;
  return (
    <details class="long">
      <summary>
        <span class="when-closed">Result, {text.length.toLocaleString()} characters</span>
      </summary>
      <LongText class={isError ? "result error" : "result"} text={text} />
    </details>
  );
}

/** The stages in the order of the code; those that were not needed are left out once a later one is there. */
function stepsOf(call: CallItem): Step[] {
  const { asked, decided, dispatched, result, verdict } = call;
  const steps: Step[] = [
    { name: "proposed", seq: call.seq, title: "The model asked for it. Nothing ran." },
    { name: "recorded", seq: call.callSeq, title: "Taken up, before any question. Nothing ran." },
  ];
  if (asked !== null) steps.push({ name: "asked", seq: asked.seq, title: "A person is asked. Nothing ran." });
  if (decided !== null) {
    const name = STEP_NAMES[decided.outcome] ?? decided.outcome;
    steps.push({
      name,
      seq: decided.seq,
      title: "The answer, written down before it counts. It holds for this call alone.",
    });
  }
  const isRefused = decided !== null && decided.outcome !== "allowed-once";
  if (dispatched !== null || (result === null && !isRefused)) {
    steps.push({
      name: "marker",
      seq: dispatched?.seq ?? null,
      title: "“It starts now”: from here on it may have run.",
    });
  }
  steps.push({ name: "result", seq: result?.seq ?? null, title: "What came back, or what a repair could prove" });
  if (verdict !== null) {
    steps.push({ name: `settled: ${verdict.verdict}`, seq: verdict.seq, title: `by ${verdict.by}` });
  }
  return steps;
}
