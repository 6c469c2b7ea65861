/**
 * JSON for reading: coloured by kind, and made of text nodes alone.
 *
 * @module
 */
import { ExactText, withNames } from "./exact_text.tsx";
import { SHOWN_LENGTH_MAX, useLength } from "./long_text.tsx";

const TOKENS = /("(?:[^"\\]|\\.)*"\s*:)|("(?:[^"\\]|\\.)*")|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
const KINDS = ["key", "string", "word", "number"] as const;

/** Draws a text; JSON is coloured, anything else stands as it is. What cannot be seen is named. */
export function JsonText({ text, label }: { readonly text: string; readonly label: string }) {
  const { shown, more } = useLength(text.length);
  const piece = text.slice(0, shown);
  return (
    <>
      <pre class="json" tabIndex={0} role="region" aria-label={label}>
        {shown > SHOWN_LENGTH_MAX ? withNames(piece) : coloured(piece)}
      </pre>
      {more}
    </>
  );
}

function coloured(text: string) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > end) parts.push(<ExactText text={text.slice(end, match.index)} />);
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)]!;
    parts.push(
      <span class={`json-${kind}`}>
        <ExactText text={match[0]} />
      </span>,
    );
    end = match.index + match[0].length;
  }
  return [...parts, <ExactText key="end" text={text.slice(end)} />];
}
