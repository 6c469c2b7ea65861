/**
 * Text of any length, a piece at a time: laying out megabytes at once would stop the page, and with it the question that waits.
 *
 * @module
 */
import { useState } from "preact/hooks";
import { ExactText } from "./exact_text.tsx";

/** How much is drawn before a person asks for more, in UTF-16 units. */
export const SHOWN_LENGTH_MAX = 20_000;
/** Each wish shows so many times as much. */
const MORE_FACTOR = 4;
/** A text longer than this may scroll, so keys must reach it; in UTF-16 units. */
const TAB_STOP_LENGTH = 600;
/** How much of a name is drawn, in UTF-16 units. */
const NAME_LENGTH_MAX = 120;

/** How much of a text is shown, and what asks for more of it. */
export function useLength(length: number) {
  const [shown, setShown] = useState(SHOWN_LENGTH_MAX);
  const more = shown < length && (
    <button type="button" class="quiet" onClick={() => setShown(shown * MORE_FACTOR)}>
      Show more: {shown.toLocaleString()} of {length.toLocaleString()} characters are here
    </button>
  );
  return { shown, more };
}

/** Draws a text as it is. */
export function LongText({ text, class: name }: { readonly text: string; readonly class: string }) {
  const { shown, more } = useLength(text.length);
  return (
    <>
      <pre class={name} tabIndex={text.length > TAB_STOP_LENGTH ? 0 : undefined}>{text.slice(0, shown)}</pre>
      {more}
    </>
  );
}

/** The name of a tool, as a stranger may have written it. */
export function ToolName({ name }: { readonly name: string }) {
  return (
    <span class="tool">
      <ExactText text={shortName(name)} />
    </span>
  );
}

/** A name that fits into a label. */
export function shortName(name: string): string {
  return name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX)}…` : name;
}
