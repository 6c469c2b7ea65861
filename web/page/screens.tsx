/**
 * The screens that stand instead of the page: no usable medium, or sessions that were known and are gone.
 *
 * @module
 */
import type { WireError } from "../protocol.ts";

/** No usable medium. Nothing falls back to memory unasked. */
export function UnusableScreen({ error, onVolatile, onRetry }: {
  readonly error: WireError;
  readonly onVolatile: () => void;
  readonly onRetry: () => void;
}) {
  return (
    <main class="screen" aria-labelledby="unusable-title">
      <p class="eyebrow">{error.code}</p>
      <h1 id="unusable-title">This browser gives no durable place for a log here</h1>
      <p role="alert">{error.message}</p>
      <p>
        Holdfast does not quietly fall back to memory: a log that is lost with the tab protects nothing. In another
        browser, or in a window that is not private, it works.
      </p>
      <div class="choices">
        <button type="button" onClick={onRetry}>Try again</button>
        <button type="button" class="quiet" onClick={onVolatile}>Go on without durability (volatile)</button>
      </div>
    </main>
  );
}

/** What was known is gone. */
export function LostScreen({ error, onContinue }: { readonly error: WireError; readonly onContinue: () => void }) {
  const ids = error.sessionIds ?? [];
  return (
    <main class="screen" aria-labelledby="lost-title">
      <p class="eyebrow">STORAGE_LOST</p>
      <h1 id="lost-title">{ids.length === 1 ? "A session is" : `${ids.length} sessions are`} gone from this browser</h1>
      <p role="alert">{error.message}</p>
      <ul class="lost">
        {ids.map((id) => (
          <li key={id}>
            <code>{id}</code>
          </li>
        ))}
      </ul>
      <p>
        The browser, or somebody, cleared this origin’s files. An exported log can be imported again; what was not
        exported cannot be brought back from here.
      </p>
      <div class="choices">
        <button type="button" onClick={onContinue}>I have noted it; start empty</button>
      </div>
    </main>
  );
}

/** A worker that does not answer. */
export function StartingScreen({ isSlow, onRetry }: { readonly isSlow: boolean; readonly onRetry: () => void }) {
  return (
    <main class="screen" aria-busy="true">
      <h1>{isSlow ? "The worker does not answer" : "Opening the log"}</h1>
      {isSlow && (
        <>
          <p role="alert">
            It has been silent for two seconds. Another tab may be holding the storage, or this browser cannot run
            module workers.
          </p>
          <button type="button" onClick={onRetry}>Start it again</button>
        </>
      )}
    </main>
  );
}
