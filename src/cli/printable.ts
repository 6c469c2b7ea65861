/**
 * Text that a terminal shows and never obeys.
 *
 * A model, a tool's answer or a file may hold characters that move the cursor, change colours, retitle the window, hide
 * themselves, or reorder what a person reads. They become visible.
 *
 * @module
 */

/**
 * Controls (line end and tab aside), formatting characters that are invisible or turn the direction of text, line and paragraph
 * separators, halves of surrogate pairs. The joiners U+200C and U+200D stay: scripts and emoji need them.
 */
const UNPRINTABLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Makes what a terminal would obey visible: `␛` for an escape, `\u{202e}` for a right-to-left override. Line ends and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, visible);
}

/** The same on one line: line ends and tabs become visible too. For what must not look like a line of ours. */
export function printableLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, visible);
}

/** The same for the text of a JSON value: escaped as JSON does, so that parsing gives the same value as before. */
export function printableJson(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    let escaped = "";
    for (let index = 0; index < character.length; index++) {
      escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
    }
    return escaped;
  });
}

function visible(character: string): string {
  const code = character.codePointAt(0)!;
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : `\\u{${code.toString(16)}}`;
}
