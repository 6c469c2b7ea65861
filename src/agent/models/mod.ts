/**
 * Models: a scripted one, one that needs no key, and one for any OpenAI-compatible endpoint.
 *
 * @module
 */
export { parseScript, type ScriptedModel, type ScriptedOptions, type ScriptPart, type ScriptStep } from "./scripted.ts";
export { scripted } from "./scripted.ts";
export { demo } from "./demo.ts";
export { IDLE_TIMEOUT_MS, openAiCompatible, type OpenAiCompatibleOptions } from "./openai_compatible.ts";
export { type AiSdkOptions, fromAiSdk } from "./ai_sdk.ts";
export type { AiSdkCall, AiSdkModel } from "./ai_sdk_shapes.ts";
