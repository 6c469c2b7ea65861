/**
 * The question before an effect. It takes the focus, and nothing but its own button approves.
 *
 * Everything it shows comes from the durable `tool/call`, as text.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { OpenQuestion } from "../protocol.ts";
import { diffLines } from "./line_diff.ts";
import { JsonText, prettyJson } from "./json_text.tsx";

const SIGNS = { same: " ", removed: "−", added: "+", folded: "⋯" } as const;

/** Asks one question. */
export function ApprovalDialog({ question, waiting, onAnswer, onLater }: {
  readonly question: OpenQuestion;
  /** How many more wait behind it. */
  readonly waiting: number;
  /** Resolves when the answer was taken or refused. */
  readonly onAnswer: (decision: "allowed-once" | "rejected") => Promise<unknown>;
  /** The dialog was left without an answer: the question stays open. */
  readonly onLater: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isAnswering, setAnswering] = useState(false);
  const answer = async (decision: "allowed-once" | "rejected") => {
    if (isAnswering) return;
    setAnswering(true);
    await onAnswer(decision);
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
      aria-describedby="approval-reason"
      onCancel={(event) => {
        event.preventDefault();
        onLater();
      }}
      // A browser may close a dialog although it was asked not to: the question then waits as well.
      onClose={() => dialog.current !== null && onLater()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <p class="eyebrow">
        Nothing has run yet{waiting > 0 && ` · ${waiting} more ${waiting === 1 ? "question waits" : "questions wait"}`}
      </p>
      <h2 id="approval-title">
        May <span class="tool">{question.toolName}</span> run?
      </h2>
      <p id="approval-reason" class="said">{question.reason || "It has an effect, so a person decides."}</p>
      {question.fileChange === null
        ? <JsonText text={prettyJson(question.argumentsText)} label="Arguments" />
        : <FileChange change={question.fileChange} argumentsText={question.argumentsText} />}
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
        <button type="button" class="reject" ref={reject} onClick={() => answer("rejected")}>Reject</button>
        <button type="button" class="approve" onClick={() => answer("allowed-once")}>Approve once</button>
        <button type="button" class="quiet" onClick={onLater}>
          Decide later <kbd>Esc</kbd>
        </button>
      </div>
    </dialog>
  );
}

function FileChange({ change, argumentsText }: {
  readonly change: NonNullable<OpenQuestion["fileChange"]>;
  readonly argumentsText: string;
}) {
  const lines = diffLines(change.before, change.after);
  return (
    <>
      <p class="facts">
        {change.before === null ? "New file" : "Replaces"} <code>{change.path}</code>
      </p>
      <pre class="diff" tabIndex={0} role="region" aria-label={`Change of ${change.path}`}>
        {lines.length === 0 && <span class="diff-line diff-folded">⋯ nothing changes</span>}
        {lines.map(({ kind, text }, index) => (
          <span key={index} class={`diff-line diff-${kind}`}>{`${SIGNS[kind]} ${text}\n`}</span>
        ))}
      </pre>
      <details>
        <summary>Exact arguments</summary>
        <JsonText text={prettyJson(argumentsText)} label="Arguments" />
      </details>
    </>
  );
}
