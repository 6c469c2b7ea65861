/**
 * What the model sees: the messages of the next request, as they are.
 *
 * @module
 */
import type { Message } from "../../mod.ts";
import { speakerOf, textOf } from "./event_line.ts";

/** How many messages are drawn; the newest. */
const MESSAGES_MAX = 200;
/** How much of one message is drawn, in UTF-16 units. */
const TEXT_LENGTH_MAX = 4000;

/** Draws the surface. */
export function SurfaceView({ messages }: { readonly messages: readonly Message[] | null }) {
  const shown = (messages ?? []).slice(-MESSAGES_MAX);
  return (
    <div class="pane-body" tabIndex={0} role="region" aria-label="What the model sees">
      <p class="explain">
        The log holds everything; the model is sent only this. {messages !== null && `${messages.length} messages.`}
      </p>
      <ol class="surface">
        {shown.map((message) => {
          const text = textOf(message.content);
          return (
            <li key={message.id} class={`seen seen-${message.role}`}>
              <h3>{speakerOf(message)}</h3>
              <pre>{text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text || "(empty)"}</pre>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
