/**
 * A conversation does not change its model because a flag was forgotten.
 *
 * @module
 */
import { type Model, readSession, type SessionRow, type SessionStore } from "../../mod.ts";
import { UsageError } from "./usage.ts";

/**
 * Refuses a model that is not the one the session was run with.
 *
 * @throws {UsageError}
 */
export async function checkSameModel(store: SessionStore, { id, state }: SessionRow, model: Model): Promise<void> {
  if (state === "damaged" || state === "unsupported") return;
  const { log, folds } = await readSession({ store, id });
  await using _ = log;
  const config = folds.route.header?.config;
  if (config === undefined || config.provider === model.provider) return;
  throw new UsageError(
    `Cannot go on with session "${id}" on the ${model.provider} model: it was run with ${config.provider}:${config.model}; ` +
      "give --model",
  );
}
