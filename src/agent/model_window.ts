/**
 * How large the window is of the model that is asked.
 *
 * @module
 */
import type { Loop } from "./loop.ts";
import { modelFor } from "./model_boundary.ts";

/** The window of one model. */
export interface ModelWindow {
  readonly provider: string;
  readonly model: string;
  /** What its answer may take, in tokens; 0 when nobody says. */
  readonly reservedTokens: number;
  /** In tokens; `null` when nobody says. */
  readonly contextWindow: number | null;
}

/**
 * The window of the model that was asked last, by what it says, else by what the log says of it.
 *
 * @returns `null` when no request was made yet
 *
 * @example
 * ```ts
 * import type { Loop } from "./loop.ts";
 * import { modelWindow } from "./model_window.ts";
 *
 * function isKnown(loop: Loop): boolean {
 *   return modelWindow(loop)?.contextWindow != null;
 * }
 * ```
 */
export function modelWindow(
  { session: { folds: { route } }, models }: Pick<Loop, "session" | "models">,
): ModelWindow | null {
  if (route.header === null) return null;
  const { provider, model, maxTokens = 0 } = route.header.config;
  const own = modelFor(models, { provider, model });
  const { context } = route;
  const isLogged = context?.provider === provider && context.model === model;
  const found = (own?.id === model ? own.contextWindow : undefined) ?? (isLogged ? context.contextWindow : undefined);
  const contextWindow = Number.isSafeInteger(found) && found! > 0 ? found! : null;
  return { provider, model, reservedTokens: maxTokens, contextWindow };
}
