/**
 * Text of a model as Markdown. It is a stranger's text: no images, forms, styles or remote loads, and links that tell nothing.
 *
 * Arguments and results never come here; they are text nodes.
 *
 * @module
 */
import createPurifier from "dompurify";
import hljs from "highlight.js/lib/core";
import diff from "highlight.js/lib/languages/diff";
import json from "highlight.js/lib/languages/json";
import typescript from "highlight.js/lib/languages/typescript";
import { Marked } from "marked";
import { useMemo } from "preact/hooks";
import { LongText } from "./long_text.tsx";

/** Above this length, in UTF-16 units, the text is shown as it is: parsing must not hold up the page. */
const MARKDOWN_LENGTH_MAX = 30_000;
/** Above this length, in UTF-16 units, code is not coloured. */
const CODE_LENGTH_MAX = 20_000;

/** Everything Markdown makes, and nothing that loads, submits or styles. */
const ALLOWED_TAGS = [
  ...["p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span"],
  ...["b", "i", "s", "sub", "sup", "kbd"],
  ...["h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"],
];
/** What a text may write as HTML, without any attribute. */
const PLAIN_TAGS: ReadonlySet<string> = new Set([
  ...["p", "br", "hr", "b", "i", "em", "strong", "del", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"],
  ...["sub", "sup", "kbd", "table", "thead", "tbody", "tr", "th", "td"],
]);
const TAG = /<(\/?)([a-z][a-z0-9]*)(?:\s[^<>]*)?>/gi;
/** The classes our own renderer writes; any other could make a text look like a part of this page. */
const CODE_CLASSES = /^hljs-[\w -]+$/;
const FORBIDDEN_TAGS = [
  ...["img", "picture", "source", "svg", "math", "video", "audio", "form", "input", "button", "select", "textarea"],
  ...["style", "link", "meta", "base", "iframe", "object", "embed", "template", "dialog"],
];

hljs.registerLanguage("diff", diff);
hljs.registerLanguage("json", json);
hljs.registerLanguage("typescript", typescript);
hljs.registerAliases(["js", "javascript", "ts", "tsx", "jsx"], { languageName: "typescript" });

const marked = new Marked({
  gfm: true,
  async: false,
  renderer: {
    code({ text, lang = "" }) {
      const language = lang.split(/\s/)[0]!;
      const isColoured = hljs.getLanguage(language) !== undefined && text.length <= CODE_LENGTH_MAX;
      return `<pre><code>${isColoured ? hljs.highlight(text, { language }).value : escaped(text)}</code></pre>`;
    },
    // Tags a text brings along lose what makes them more than formatting; those that are more are shown as text.
    html: ({ text }) => plainTags(text),
    checkbox: ({ checked }) => checked ? "[x] " : "[ ] ",
    // A picture would load from wherever the text says; its words remain.
    image: ({ text, href }) => escaped(`[picture: ${text || href}]`),
  },
});

const purifier = createPurifier(globalThis.window);
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (!CODE_CLASSES.test(node.getAttribute("class") ?? "")) node.removeAttribute("class");
  if (node.tagName === "TABLE" || node.tagName === "PRE") node.setAttribute("tabindex", "0"); // They may scroll.
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

/** Draws a model's text. */
export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => text.length > MARKDOWN_LENGTH_MAX ? null : htmlOrNull(text), [text]);
  if (html === null) return <LongText class="plain" text={text} />;
  // deno-lint-ignore react-no-danger -- the only place: what stands here went through the purifier.
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}

/** `null` for what the parser gives up on, such as a nesting too deep for its stack. */
function htmlOrNull(text: string): string | null {
  try {
    return safeHtml(text);
  } catch {
    return null;
  }
}

function safeHtml(text: string): string {
  return purifier.sanitize(marked.parse(text) as string, {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ["href", "class", "title", "align", "start"],
    FORBID_TAGS: FORBIDDEN_TAGS,
    FORBID_ATTR: ["style", "src", "srcset", "id", "name"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}

function plainTags(html: string): string {
  let plain = "";
  let end = 0;
  for (const { 0: tag, 1: slash, 2: name, index } of html.matchAll(TAG)) {
    const isPlain = PLAIN_TAGS.has(name!.toLowerCase());
    plain += escaped(html.slice(end, index)) + (isPlain ? `<${slash}${name}>` : escaped(tag));
    end = index + tag.length;
  }
  return plain + escaped(html.slice(end));
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
