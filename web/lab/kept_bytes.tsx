/**
 * What a crash left of the log, line by line, beside what had been handed to the medium.
 *
 * @module
 */
import { ExactText } from "../page/exact_text.tsx";
import { linesOf, type LogLine } from "./log_lines.ts";

/** How a line of the log fared. */
interface Row {
  readonly line: LogLine;
  readonly fate: "acknowledged" | "kept" | "torn" | "lost";
}

const FATE_WORDS: Readonly<Record<Row["fate"], string>> = {
  acknowledged: "acknowledged",
  kept: "kept, not promised",
  torn: "in pieces",
  lost: "lost",
};

/** Draws the lines of the turn; what came before it is counted. */
export function KeptBytes({ log, written, acknowledgedBytes, turnStartBytes }: {
  readonly log: Uint8Array;
  /** The log as it would be without the crash. */
  readonly written: Uint8Array;
  readonly acknowledgedBytes: number;
  readonly turnStartBytes: number;
}) {
  const rows = rowsOf(log, written, acknowledgedBytes);
  const earlier = rows.filter(({ line }) => line.offsetBytes < turnStartBytes);
  const shown = rows.filter(({ line }) => line.offsetBytes >= turnStartBytes);
  return (
    <>
      <p>
        <strong>{log.length.toLocaleString("en")}</strong> of {written.length.toLocaleString("en")} bytes are there;
        {" "}
        {acknowledgedBytes.toLocaleString("en")} of them had been acknowledged.
      </p>
      <ol class="lines" aria-label="Lines of the log">
        <li class="before">{earlier.length} lines before this turn, acknowledged</li>
        {shown.length === 0 && <li class="before">nothing of this turn</li>}
        {shown.map(({ line, fate }) => (
          <li key={line.offsetBytes} class={fate}>
            <details>
              <summary>
                <span class="mark" aria-hidden="true" />
                <span class="number">{line.seq ?? "·"}</span>
                <code>{line.type}</code>
                <span class="fate">{FATE_WORDS[fate]}</span>
              </summary>
              <pre tabIndex={0} role="region" aria-label={`Bytes at ${line.offsetBytes}`}>
                <ExactText text={line.text} />
              </pre>
            </details>
          </li>
        ))}
      </ol>
    </>
  );
}

/** What is there, and behind it the lines that are not. */
function rowsOf(log: Uint8Array, written: Uint8Array, acknowledgedBytes: number): Row[] {
  const kept = linesOf(log).map((line): Row => {
    if (!line.isWhole) return { line, fate: "torn" };
    return { line, fate: line.offsetBytes + line.sizeBytes <= acknowledgedBytes ? "acknowledged" : "kept" };
  });
  const known = new Set(kept.flatMap(({ line, fate }) => fate === "torn" ? [] : [line.offsetBytes]));
  const lost = linesOf(written).filter(({ offsetBytes, isWhole }) =>
    isWhole && !known.has(offsetBytes) && !kept.some(({ line }) => line.offsetBytes === offsetBytes)
  );
  return [...kept, ...lost.map((line): Row => ({ line, fate: "lost" }))];
}
