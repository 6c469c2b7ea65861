/**
 * Counts a value up, for the suite beside: one of several workers that do so at once.
 *
 * @module
 */
import { updateValue } from "../../../web/values.ts";

globalThis.onmessage = async ({ data: { key, changes } }) => {
  for (let made = 0; made < changes; made++) await updateValue(key, (old) => (typeof old === "number" ? old : 0) + 1);
  globalThis.postMessage("done");
};
