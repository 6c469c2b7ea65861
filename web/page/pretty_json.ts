/**
 * JSON with line breaks, and otherwise as it was written: a person who decides over a text must see that text. Parsing and writing
 * it anew would drop a key that is there twice, and round a number.
 *
 * @see RFC 8259 for the tokens
 * @module
 */

/** Above this length, in UTF-16 units, the text stands as it is. */
const PRETTY_LENGTH_MAX = 200_000;
/** From this depth on nothing is indented further. */
const INDENT_DEPTH_MAX = 32;

/** The text with a line for each member and element, when it is JSON. Every token stays as it was written. */
export function prettyJson(text: string): string {
  if (text.length > PRETTY_LENGTH_MAX || !isJson(text)) return text;
  let pretty = "";
  let depth = 0;
  const newLine = () => `\n${"  ".repeat(Math.min(depth, INDENT_DEPTH_MAX))}`;
  const tokens = tokensOf(text);
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    switch (token) {
      case "{":
      case "[":
        depth++;
        pretty += token;
        if (next !== "}" && next !== "]") pretty += newLine();
        break;
      case "}":
      case "]": {
        depth--;
        const isEmpty = tokens[index - 1] === "{" || tokens[index - 1] === "[";
        pretty += isEmpty ? token : newLine() + token;
        break;
      }
      case ",":
        pretty += token + newLine();
        break;
      case ":":
        pretty += ": ";
        break;
      default:
        pretty += token;
    }
  }
  return pretty;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The tokens of a text that is JSON, without the space between them. */
function tokensOf(json: string): string[] {
  const tokens: string[] = [];
  for (let start = 0; start < json.length;) {
    let end = start + 1;
    const first = json[start]!;
    if (first === '"') {
      while (json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
      end++;
    } else if (!"{}[],: \t\r\n".includes(first)) {
      while (end < json.length && !'"{}[],: \t\r\n'.includes(json[end]!)) end++;
    }
    if (!" \t\r\n".includes(first)) tokens.push(json.slice(start, end));
    start = end;
  }
  return tokens;
}
