/**
 * Tells a press that was meant for a question from one that was on its way when the question appeared.
 *
 * A question takes the focus and may appear under the pointer. What a person began before they could see it must not answer it: the
 * repeats of a key that is held, the second half of a double click, a click that lands as the dialog opens.
 *
 * @module
 */
import { useEffect, useMemo, useState } from "preact/hooks";

/** How long a question stands before a pointer can answer it, in milliseconds: longer than it takes to withhold a click. */
export const POINTER_WAIT_MS = 500;

/** What is used of a key or pointer event. */
export interface Press {
  readonly key?: string;
  readonly repeat?: boolean;
  /** How many presses in a row; 0 for a click that a key made. */
  readonly detail?: number;
  preventDefault(): void;
}

/** Judges presses for one question. */
export interface FreshPress {
  /** False for the first moments, while no pointer can answer. */
  readonly isReady: boolean;
  /** Swallows the repeats of a key that is held. */
  onKeyDown(event: Press): void;
  /** A press that comes too early makes the wait begin anew: whoever clicks on and on has not read. */
  onPointerDown(): void;
  /** Whether this click may answer. */
  isMeant(click: Press): boolean;
}

/** Judges presses for the question with this id, from the moment it is drawn. */
export function useFreshPress(question: string): FreshPress {
  const [readyFor, setReadyFor] = useState<string | null>(null);
  const [early, setEarly] = useState(0);
  const isReady = readyFor === question;
  useEffect(() => {
    const timer = setTimeout(() => setReadyFor(question), POINTER_WAIT_MS);
    return () => clearTimeout(timer);
  }, [question, early]);
  return useMemo(() => freshPress(isReady, () => setEarly((count) => count + 1)), [isReady]);
}

/** The judging itself. A key needs no wait: its first press goes to whatever had the focus when it was pressed. */
export function freshPress(isReady: boolean, onEarly: () => void): FreshPress {
  return {
    isReady,
    onPointerDown: () => void (isReady || onEarly()),
    onKeyDown(event) {
      if (event.repeat === true && (event.key === "Enter" || event.key === " ")) event.preventDefault();
    },
    isMeant: ({ detail = 0 }) => detail === 0 || (isReady && detail === 1),
  };
}
