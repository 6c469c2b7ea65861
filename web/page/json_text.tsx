/**
 * JSON for reading: coloured by kind, and made of text nodes alone.
 *
 * @module
 */
import { useState } from "preact/hooks";

/** How much is drawn before a person asks for the rest, in UTF-16 units. */
const SHOWN_LENGTH_MAX = 20_000;
const TOKENS = /("(?:[^"\\]|\\.)*"\s*:)|("(?:[^"\\]|\\.)*")|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
const KINDS = ["key", "string", "word", "number"] as const;

/** Draws a text; JSON is coloured, anything else stands as it is. */
export function JsonText({ text, label }: { readonly text: string; readonly label: string }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? text : text.slice(0, SHOWN_LENGTH_MAX);
  return (
    <>
      <pre class="json" tabIndex={0} role="region" aria-label={label}>{isWhole ? shown : coloured(shown)}</pre>
      {shown.length < text.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </button>
      )}
    </>
  );
}

/** Arguments as they are in the log, with line breaks where they are JSON. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function coloured(text: string) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)]!;
    parts.push(<span class={`json-${kind}`}>{match[0]}</span>);
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}
