/**
 * Keys for everything, shown on request. Single keys work only outside of text fields, and can be switched off.
 *
 * @see WCAG 2.2, 2.1.4 Character Key Shortcuts
 * @module
 */
import { useEffect, useRef } from "preact/hooks";

/** One key and what it does. */
export interface Shortcut {
  readonly key: string;
  readonly words: string;
  readonly run: () => void;
}

/** Listens while the component is there. */
export function useShortcuts(shortcuts: readonly Shortcut[], isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (target.closest("input, textarea, select, dialog") !== null) return;
      const shortcut = shortcuts.find(({ key }) => key === event.key);
      if (shortcut === undefined) return;
      event.preventDefault();
      shortcut.run();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });
}

/** Lists the keys. */
export function ShortcutHelp({ shortcuts, isOn, onToggle, onClose }: {
  readonly shortcuts: readonly Shortcut[];
  readonly isOn: boolean;
  readonly onToggle: () => void;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog class="help" ref={dialog} aria-labelledby="help-title" onClose={onClose}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {shortcuts.map(({ key, words }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Enter</kbd>
          </dt>
          <dd>send; Shift+Enter makes a new line</dd>
        </div>
        <div>
          <dt>
            <kbd>↑ ↓ Page Home End</kbd>
          </dt>
          <dd>move in the log</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>leave a question open; it never approves</dd>
        </div>
      </dl>
      <label class="choice">
        <input type="checkbox" checked={isOn} onChange={onToggle} /> <span>Single keys are on</span>
      </label>
      <div class="choices">
        <button type="button" onClick={() => dialog.current!.close()}>Close</button>
      </div>
    </dialog>
  );
}
