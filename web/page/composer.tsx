/**
 * Where a person types. A draft is never lost to a failed send.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";

/** How long a message may be, in UTF-16 units. */
const MESSAGE_LENGTH_MAX = 200_000;

/** Draws the composer. */
export function Composer({ isRunning, refusal, suggestions, draft, onSend, onCancel }: {
  readonly isRunning: boolean;
  /** Why nothing can be sent; `null` when it can. */
  readonly refusal: string | null;
  readonly suggestions: readonly string[];
  /** Text to begin with. */
  readonly draft: string;
  /** True when it is durable. */
  readonly onSend: (text: string) => Promise<boolean>;
  readonly onCancel: () => void;
}) {
  const [text, setText] = useState("");
  const [isSending, setSending] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setText((typed) => typed === "" ? draft : typed), [draft]);
  const submit = async () => {
    const said = text.trim();
    if (said === "" || isSending || refusal !== null) return;
    setSending(true);
    setText("");
    if (!await onSend(said)) setText((typed) => typed === "" ? said : typed);
    setSending(false);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {suggestions.length > 0 && (
        <div class="suggestions" role="group" aria-label="Try one of these">
          {suggestions.map((suggestion) => (
            <button
              key={suggestion}
              type="button"
              onClick={() => {
                setText(suggestion);
                box.current!.focus();
              }}
            >
              {suggestion}
            </button>
          ))}
        </div>
      )}
      <div class="line">
        <textarea
          id="message"
          ref={box}
          rows={2}
          maxLength={MESSAGE_LENGTH_MAX}
          value={text}
          disabled={refusal !== null}
          placeholder={refusal ?? "Tell the agent what to do"}
          aria-label="Message"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            submit();
          }}
        />
        <button type="submit" class="send" disabled={refusal !== null || isSending || text.trim() === ""}>
          {isSending ? "Writing…" : "Send"}
        </button>
        {isRunning && <button type="button" class="stop" onClick={onCancel}>Stop</button>}
      </div>
    </form>
  );
}
