/**
 * Text that shows what it hides: characters without a shape of their own, and those that turn the order of reading around.
 *
 * @see Unicode Technical Report 36, "Unicode Security Considerations", 2.10, on bidirectional text
 * @module
 */

/** Controls, formats, half surrogate pairs, what is invisible by default, and every blank but the space, tab and newline. */
const HIDDEN = /(?![\t\n ])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}]/gu;

/** Draws a text; what cannot be seen stands as its code point, in a box that no text can draw. */
export function ExactText({ text }: { readonly text: string }) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(<span class="hidden-character" title="a character that cannot be seen">{nameOf(match[0])}</span>);
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return <>{parts}</>;
}

/** The same in plain text, for where a text is too long for a box each. */
export function withNames(text: string): string {
  return text.replace(HIDDEN, (character) => `⟨${nameOf(character)}⟩`);
}

function nameOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}
