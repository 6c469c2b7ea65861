/**
 * TypeScript source reduced to its code, for tests that search it for names.
 *
 * @module
 */

/** Before a `/`, these words start an expression: what follows is a pattern, not a division. */
const WORDS_BEFORE_PATTERN =
  /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|delete|throw|new|await|yield|instanceof)\s*$/;

/**
 * Blanks comments and the text of strings, templates and patterns. Line breaks stay, so line numbers stay true; the code
 * inside `${}` stays too.
 */
export function codeOnly(source: string): string {
  let code = "";
  let at = 0;
  /** For each open template, how many braces are open inside its current `${}`. */
  const templates: number[] = [];

  function blankTo(end: number): void {
    code += source.slice(at, end).replace(/[^\n]/g, " ");
    at = end;
  }

  /** The end of a literal that starts at `at`: behind its closing character, or at the end of the line. */
  function endOfLiteral(close: string): number {
    let isInClass = false;
    for (let index = at + 1; index < source.length; index++) {
      const character = source[index];
      if (character === "\\") index++;
      else if (character === "\n") return index;
      else if (close === "/" && character === "[") isInClass = true;
      else if (close === "/" && character === "]") isInClass = false;
      else if (character === close && !isInClass) return index + 1;
    }
    return source.length;
  }

  /** Blanks template text from `at` to behind its backtick, or to its next `${`, whose brace is code. */
  function templateText(): void {
    for (let index = at; index < source.length; index++) {
      if (source[index] === "\\") index++;
      else if (source[index] === "`") return blankTo(index + 1);
      else if (source.startsWith("${", index)) {
        blankTo(index + 1);
        templates.push(0);
        code += "{";
        at++;
        return;
      }
    }
    blankTo(source.length);
  }

  function isPatternStart(): boolean {
    const before = code.trimEnd();
    return before === "" || /[(,=:[!&|?{};+\-*%~^<>]$/.test(before) || WORDS_BEFORE_PATTERN.test(code);
  }

  while (at < source.length) {
    const character = source[at]!;
    if (source.startsWith("//", at)) {
      const end = source.indexOf("\n", at);
      blankTo(end < 0 ? source.length : end);
    } else if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      blankTo(end < 0 ? source.length : end + 2);
    } else if (character === '"' || character === "'") blankTo(endOfLiteral(character));
    else if (character === "/" && isPatternStart()) blankTo(endOfLiteral("/"));
    else if (character === "`") {
      blankTo(at + 1);
      templateText();
    } else if (character === "}" && templates.at(-1) === 0) {
      templates.pop();
      code += "}";
      at++;
      templateText();
    } else {
      if (templates.length > 0 && character === "{") templates[templates.length - 1]!++;
      if (templates.length > 0 && character === "}") templates[templates.length - 1]!--;
      code += character;
      at++;
    }
  }
  return code;
}
