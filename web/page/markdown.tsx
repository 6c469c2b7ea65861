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

/** Above this length, in UTF-16 units, the text is shown as it is: parsing must not hold up the page. */
const MARKDOWN_LENGTH_MAX = 100_000;
/** Above this length, in UTF-16 units, code is not coloured. */
const CODE_LENGTH_MAX = 20_000;

/** Everything Markdown makes, and nothing that loads, submits or styles. */
const ALLOWED_TAGS = [
  ...["p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span"],
  ...["h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"],
];
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
    // A picture would load from wherever the text says; its words remain.
    image: ({ text, href }) => escaped(`[picture: ${text || href}]`),
  },
});

const purifier = createPurifier(globalThis.window);
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "TABLE" || node.tagName === "PRE") node.setAttribute("tabindex", "0"); // They may scroll.
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

/** Draws a model's text. */
export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => text.length > MARKDOWN_LENGTH_MAX ? null : safeHtml(text), [text]);
  if (html === null) return <pre class="plain">{text}</pre>;
  // deno-lint-ignore react-no-danger -- the only place: what stands here went through the purifier.
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}

function safeHtml(text: string): string {
  return purifier.sanitize(marked.parse(text) as string, {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ["href", "class", "title", "align", "start"],
    FORBID_TAGS: FORBIDDEN_TAGS,
    FORBID_ATTR: ["style", "src", "srcset", "id", "name"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#)/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
