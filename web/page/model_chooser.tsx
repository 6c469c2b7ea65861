/**
 * Who answers: the demo model, or an OpenAI-compatible endpoint. A key stays in memory unless a person ticks otherwise.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ModelChoice } from "../protocol.ts";

/** Draws the dialog. */
export function ModelChooser({ current, onChoose, onClose }: {
  readonly current: ModelChoice;
  readonly onChoose: (choice: ModelChoice, isKept: boolean) => void;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const remote = current.kind === "openai" ? current : null;
  const [kind, setKind] = useState(current.kind);
  const [baseUrl, setBaseUrl] = useState(remote?.baseUrl ?? "http://localhost:11434/v1");
  const [model, setModel] = useState(remote?.model ?? "");
  const [apiKey, setApiKey] = useState(remote?.apiKey ?? "");
  const [isKept, setKept] = useState(false);
  useEffect(() => dialog.current!.showModal(), []);
  const problem = kind === "demo" ? null : problemOf(baseUrl, model);
  const submit = () => {
    if (problem !== null) return;
    const key = apiKey.trim();
    onChoose(kind === "demo" ? { kind } : { kind, baseUrl, model, ...(key === "" ? {} : { apiKey: key }) }, isKept);
    onClose();
  };
  return (
    <dialog
      class="chooser"
      ref={dialog}
      aria-labelledby="model-title"
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <h2 id="model-title">Who answers?</h2>
        <fieldset>
          <legend class="unseen">Model</legend>
          <label class="choice">
            <input type="radio" name="kind" checked={kind === "demo"} onChange={() => setKind("demo")} />
            <span>
              <strong>The demo model</strong>
              <span class="explain">Needs no key and no network. Understands a few sentences.</span>
            </span>
          </label>
          <label class="choice">
            <input type="radio" name="kind" checked={kind === "openai"} onChange={() => setKind("openai")} />
            <span>
              <strong>An OpenAI-compatible endpoint</strong>
              <span class="explain">The worker talks to it directly; it must allow this origin (CORS).</span>
            </span>
          </label>
        </fieldset>
        {kind === "openai" && (
          <div class="fields">
            <label>
              Base URL
              <input type="url" value={baseUrl} onInput={(event) => setBaseUrl(event.currentTarget.value)} />
            </label>
            <label>
              Model
              <input type="text" value={model} onInput={(event) => setModel(event.currentTarget.value)} />
            </label>
            <label>
              API key
              <input
                type="password"
                autocomplete="off"
                value={apiKey}
                onInput={(event) => setApiKey(event.currentTarget.value)}
              />
            </label>
            <label class="choice">
              <input type="checkbox" checked={isKept} onChange={() => setKept(!isKept)} />
              <span>
                <strong>Keep it in this browser</strong>
                <span class="explain">
                  Unencrypted, for this origin. Without the tick the key is gone with the page.
                </span>
              </span>
            </label>
            {problem !== null && <p class="facts">{problem}</p>}
          </div>
        )}
        <div class="choices">
          <button type="submit" class="approve" disabled={problem !== null}>Use it</button>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
        </div>
      </form>
    </dialog>
  );
}

function problemOf(baseUrl: string, model: string): string | null {
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    return "The base URL must start with http:// or https://.";
  }
  return model.trim() === "" ? "The model needs a name." : null;
}
