/**
 * One call: what it was asked to do, and the trail of evidence that the log holds for it.
 *
 * @module
 */
import type { CallItem } from "./conversation_items.ts";
import { JsonText, prettyJson } from "./json_text.tsx";

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
    <article class="call" aria-label={`Call of ${call.name}`}>
      <header>
        <span class="tool">{call.name}</span>
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
        <JsonText text={prettyJson(call.argumentsText)} label={`Arguments of ${call.name}`} />
        {call.dispatched !== null && (
          <p class="key">
            effect {call.dispatched.effect}, key <code>{call.dispatched.effectKey}</code>
            {call.dispatched.isRetry && " (a retry, under the first key)"}
          </p>
        )}
      </details>
      {result !== null && <Result text={result.text} isError={result.isError} />}
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
      <pre class={isError ? "result error" : "result"} tabIndex={0}>{text}</pre>
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
  if (decided !== null) steps.push({ name: decided.outcome, seq: decided.seq, title: "The answer, before it counts" });
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

function outcomeOf({ asked, decided, dispatched, result, verdict, callSeq }: CallItem): string {
  if (result !== null) {
    if (result.code === "TOOL_OUTCOME_UNKNOWN") {
      return verdict === null ? "outcome unknown" : `settled: ${verdict.verdict}`;
    }
    if (result.code === "TOOL_NOT_STARTED") return verdict?.verdict === "absent" ? "settled: absent" : "did not run";
    if (result.code !== null) return result.code;
    return result.isError ? "failed" : "done";
  }
  if (dispatched !== null) return "running";
  if (asked !== null && decided === null) return "waits for you";
  if (decided !== null) return decided.outcome;
  return callSeq === null ? "proposed" : "recorded";
}
