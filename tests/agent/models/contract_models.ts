/**
 * The models that keep the contract: our own client, and the AI SDK's for each version of its specification.
 *
 * @module
 */
import { createOpenAICompatible as createSpec2 } from "ai-sdk-spec-2";
import { createOpenAICompatible as createSpec3 } from "ai-sdk-spec-3";
import { createOpenAICompatible as createSpec4 } from "ai-sdk-spec-4";
import { fromAiSdk } from "../../../src/agent/models/ai_sdk.ts";
import { openAiCompatible } from "../../../src/agent/models/openai_compatible.ts";
import type { Model } from "../../../src/model/model.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** How each model is made for an endpoint. */
export const contractModels: Readonly<Record<string, (baseUrl: string) => Model>> = {
  "openAiCompatible": (baseUrl) => openAiCompatible({ model: "small", baseUrl, fetch, clock: new FakeClock() }),
  "fromAiSdk, v2": (baseURL) => fromAiSdk(createSpec2({ ...options, baseURL })("small")),
  "fromAiSdk, v3": (baseURL) => fromAiSdk(createSpec3({ ...options, baseURL })("small")),
  "fromAiSdk, v4": (baseURL) => fromAiSdk(createSpec4({ ...options, baseURL })("small"), { clock: new FakeClock() }),
};

const options = { name: "contract", includeUsage: true };
