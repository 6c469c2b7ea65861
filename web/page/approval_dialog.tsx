/**
 * The question before an effect. It takes the focus, and nothing but its own button approves.
 *
 * Everything it shows comes from the durable `tool/call`, as text.
 *
 * @module
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CrashPoint, OpenQuestion } from "../protocol.ts";
import { type DiffLine, diffLines } from "./line_diff.ts";
import { ExactText, withNames } from "./exact_text.tsx";
import { type Press, useFreshPress } from "./fresh_press.ts";
import { JsonText } from "./json_text.tsx";
import { ToolName } from "./long_text.tsx";
import { prettyJson } from "./pretty_json.ts";
import { REPETITION_WORDS } from "./repetition.ts";

/** How many lines of a change are drawn before a person asks for the rest. */
const DIFF_LINES_MAX = 1_000;
/** How much of a change is drawn before that, in UTF-16 units. */
const DIFF_LENGTH_MAX = 20_000;
/** How much of a reason is drawn, in UTF-16 units; the arguments below it are what counts. */
const REASON_LENGTH_MAX = 500;
/** Where a visitor may crash it, from the question itself. */
const CRASHES: readonly { readonly at: CrashPoint; readonly words: string }[] = [
  { at: "now", words: "Crash now, unanswered" },
  { at: "before-effect", words: "Approve, and crash before it runs" },
  { at: "after-effect", words: "Approve, and crash after it ran" },
];
const SIGNS = { same: " ", removed: "−", added: "+", folded: "⋯" } as const;

/** Asks one question. */
export function ApprovalDialog({ question, waiting, onAnswer, onLater, onCrash }: {
  readonly question: OpenQuestion;
  /** How many more wait behind it. */
  readonly waiting: number;
  /** Resolves when the answer was taken or refused. */
  readonly onAnswer: (decision: "allowed-once" | "rejected") => Promise<unknown>;
  /** The dialog was left without an answer: the question stays open. */
  readonly onLater: () => void;
  /** Makes a crash happen, for a demonstration: now, or where the effect that is approved next gets. Absent: not offered. */
  readonly onCrash?: (at: CrashPoint) => Promise<boolean>;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isAnswering, setAnswering] = useState(false);
  const press = useFreshPress(question.question);
  const answer = async (click: Press, decision: "allowed-once" | "rejected") => {
    if (isAnswering || !press.isMeant(click)) return;
    setAnswering(true);
    await onAnswer(decision);
    setAnswering(false);
  };
  /** Approving and crashing is approving: it needs the same press. */
  const crash = async (click: Press, at: CrashPoint) => {
    if (isAnswering || !press.isMeant(click)) return;
    setAnswering(true);
    const isArmed = await onCrash!(at);
    if (isArmed && at !== "now") await onAnswer("allowed-once");
    setAnswering(false);
  };
  const reject = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    if (!dialog.current!.open) dialog.current!.showModal();
    reject.current!.focus();
    return () => {
      dialog.current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, [question.question]);
  return (
    <dialog
      class="approval"
      ref={dialog}
      aria-labelledby="approval-title"
      aria-describedby={question.repeats === null ? "approval-reason" : "approval-reason approval-repeats"}
      onCancel={(event) => {
        event.preventDefault();
        onLater();
      }}
      // A browser may close a dialog although it was asked not to: the question then waits as well.
      onClose={() => dialog.current !== null && onLater()}
      onPointerDown={() => press.onPointerDown()}
      onKeyDown={(event) => {
        event.stopPropagation();
        press.onKeyDown(event);
      }}
    >
      <p class="eyebrow">
        Nothing has run yet{waiting > 0 && ` · ${waiting} more ${waiting === 1 ? "question waits" : "questions wait"}`}
      </p>
      <h2 id="approval-title">
        May <ToolName name={question.toolName} /> run{question.repeats !== null && " again"}?
      </h2>
      <p id="approval-reason" class="said">
        <ExactText text={shortened(question.reason)} />
      </p>
      {question.repeats !== null && <Repeats {...question.repeats} />}
      <Proposed question={question} />
      <p class="facts">
        {question.callSeq === null
          ? "No call stands behind this question."
          : `From event ${question.callSeq} of the log, which is durable. `}
        {question.argumentsDigest !== null && (
          <>
            Digest <code title={question.argumentsDigest}>{question.argumentsDigest.slice(0, 16)}…</code>
          </>
        )}
      </p>
      <div class="choices">
        <button
          type="button"
          class="reject"
          ref={reject}
          aria-disabled={!press.isReady}
          onClick={(event) => answer(event, "rejected")}
        >
          Reject
        </button>
        <button
          type="button"
          class="approve"
          aria-disabled={!press.isReady}
          onClick={(event) => answer(event, "allowed-once")}
        >
          Approve once
        </button>
        <button type="button" class="quiet" onClick={onLater}>
          Decide later <kbd>Esc</kbd>
        </button>
      </div>
      {onCrash !== undefined && (
        <div class="demo" role="group" aria-label="For the demonstration">
          <p class="facts">For the demonstration: crash it, and see what the next start can prove.</p>
          {CRASHES.map(({ at, words }) => (
            <button
              key={at}
              type="button"
              aria-disabled={!press.isReady}
              onClick={(event) => crash(event, at)}
            >
              {words}
            </button>
          ))}
        </div>
      )}
    </dialog>
  );
}

/** A yes may let it happen a second time, and says so before the arguments. */
function Repeats({ callSeq, effect }: NonNullable<OpenQuestion["repeats"]>) {
  return (
    <p id="approval-repeats" class="repeats" role="note">
      <strong>This may be the second time.</strong> The equal call at event {callSeq}{" "}
      may already have taken effect, and nothing in the log settles that. {REPETITION_WORDS[effect]}{" "}
      To settle that one first, decide later.
    </p>
  );
}

/** What would be done: a change of a file, a command, or the arguments as they are. */
function Proposed({ question: { fileChange, toolName, argumentsText } }: { readonly question: OpenQuestion }) {
  if (fileChange !== null) return <FileChange change={fileChange} argumentsText={argumentsText} />;
  const command = toolName === "shell" ? commandIn(argumentsText) : null;
  if (command === null) return <JsonText text={prettyJson(argumentsText)} label="Arguments" />;
  return (
    <>
      <p class="facts">The command, as the shell gets it:</p>
      <pre class="diff command" tabIndex={0} role="region" aria-label="Command"><ExactText text={command} /></pre>
      <details open>
        <summary>Exact arguments</summary>
        <JsonText text={prettyJson(argumentsText)} label="Arguments" />
      </details>
    </>
  );
}

/** The script of a shell call; `null` when its arguments hold none. */
function commandIn(argumentsText: string): string | null {
  try {
    const { command } = JSON.parse(argumentsText) as { readonly command?: unknown };
    return typeof command === "string" ? command : null;
  } catch {
    return null;
  }
}

function FileChange({ change, argumentsText }: {
  readonly change: NonNullable<OpenQuestion["fileChange"]>;
  readonly argumentsText: string;
}) {
  const [isWhole, setWhole] = useState(false);
  const lines = useMemo(() => diffLines(change.before, change.after), [change.before, change.after]);
  const count = useMemo(() => shownCount(lines), [lines]);
  return (
    <>
      <p class="facts">
        {change.before === null ? "New file" : "Replaces"}{" "}
        <code>
          <ExactText text={change.path} />
        </code>
      </p>
      <pre class="diff" tabIndex={0} role="region" aria-label={`Change of ${change.path}`}>
        {lines.length === 0 && <span class="diff-line diff-folded">⋯ nothing changes</span>}
        {isWhole
          ? withNames(lines.map(({ kind, text }) => `${SIGNS[kind]} ${text}`).join("\n"))
          : lines.slice(0, count).map(({ kind, text }, index) => (
            <span key={index} class={`diff-line diff-${kind}`}>
              {SIGNS[kind]} <ExactText text={text.slice(0, DIFF_LENGTH_MAX)} />
              {"\n"}
            </span>
          ))}
      </pre>
      {!isWhole && isCut(lines, count) && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {lines.length.toLocaleString()} lines
        </button>
      )}
      <details>
        <summary>Exact arguments</summary>
        <JsonText text={prettyJson(argumentsText)} label="Arguments" />
      </details>
    </>
  );
}

/** How many lines are drawn at first. */
function shownCount(lines: readonly DiffLine[]): number {
  let length = 0;
  let count = 0;
  while (count < lines.length && count < DIFF_LINES_MAX && length < DIFF_LENGTH_MAX) {
    length += lines[count++]!.text.length;
  }
  return count;
}

function isCut(lines: readonly DiffLine[], count: number): boolean {
  return count < lines.length || (lines[count - 1]?.text.length ?? 0) > DIFF_LENGTH_MAX;
}

function shortened(reason: string): string {
  return reason.length > REASON_LENGTH_MAX ? `${reason.slice(0, REASON_LENGTH_MAX)}…` : reason;
}
