/**
 * What a page remembers beyond itself: per tab the session and the inputs nobody acknowledged, per origin, only when a person
 * ticks it, the model and its key.
 *
 * @module
 */
import { pageState } from "../client.ts";
import type { ModelChoice } from "../protocol.ts";
import { getValue, updateValue } from "../values.ts";

/** An input that is not known to be durable. */
export interface UnsentInput {
  readonly id: string;
  readonly inputId: string;
  readonly text: string;
}

/** Where it is remembered. */
export interface Memory {
  lastSession(): string | null;
  keepLastSession(id: string | null): void;
  /** Oldest first. */
  unsent(id: string): readonly UnsentInput[];
  keepUnsent(input: UnsentInput): void;
  dropUnsent(inputId: string): void;
  model(): Promise<ModelChoice | null>;
  /** `null` forgets it. */
  keepModel(choice: ModelChoice | null): Promise<void>;
  tabState(): "visible" | "hidden";
}

/** How many unacknowledged inputs a tab keeps; an older one is given up. */
const UNSENT_MAX = 16;
const UNSENT_KEY = "holdfast-unsent";
const MODEL_KEY = "holdfast-model";

/** The memory of a browser tab. The session is in the address, so a reload and a copied link find it. */
export function tabMemory(): Memory {
  const all = (): UnsentInput[] => {
    try {
      return JSON.parse(sessionStorage.getItem(UNSENT_KEY) ?? "[]");
    } catch {
      return [];
    }
  };
  const keep = (inputs: readonly UnsentInput[]) =>
    sessionStorage.setItem(UNSENT_KEY, JSON.stringify(inputs.slice(-UNSENT_MAX)));
  return {
    lastSession: () => new URLSearchParams(location.hash.slice(1)).get("session"),
    keepLastSession: (id) =>
      history.replaceState(
        null,
        "",
        // An id that came from elsewhere may hold half a surrogate pair, which no address can; it is then not found again.
        id === null ? location.pathname + location.search : `#session=${encodeURIComponent(id.toWellFormed())}`,
      ),
    unsent: (id) => all().filter((input) => input.id === id),
    keepUnsent: (input) => keep([...all(), input]),
    dropUnsent: (inputId) => keep(all().filter((input) => input.inputId !== inputId)),
    model: async () => {
      try {
        return (await getValue(MODEL_KEY) as ModelChoice | undefined) ?? null;
      } catch {
        return null; // Private modes refuse the database; then nothing was kept.
      }
    },
    keepModel: (choice) =>
      choice === null ? updateValue(MODEL_KEY, () => undefined).catch(() => {}) : updateValue(MODEL_KEY, () => choice),
    tabState: () => pageState(document),
  };
}
