/**
 * What a repetition of an effect does, in plain words, by the class that its tool declares.
 *
 * @module
 */
import type { EffectClass } from "../../mod.ts";

/** Said wherever a person may let something happen again. */
export const REPETITION_WORDS: Readonly<Record<EffectClass, string>> = {
  none: "It has no effect, so running it again is harmless.",
  idempotent: "It is idempotent: running it again leaves the world as running it once.",
  keyed: "It is keyed: the target recognises the key, so a retry is not done twice.",
  opaque: "It is opaque: nothing protects from a second effect, so look first.",
};
