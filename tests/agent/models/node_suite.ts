/**
 * The contract of models in one bundle, for Node. Prints `{cases, failures}` as JSON.
 *
 * @module
 */
import { modelContract } from "../../../src/testing/model_contract.ts";
import { endpointContext } from "./chat_endpoint.ts";
import { contractModels } from "./contract_models.ts";

const failures: string[] = [];
let cases = 0;

for (const [model, modelAt] of Object.entries(contractModels)) {
  for (const { name, run } of modelContract) {
    cases++;
    try {
      await run(endpointContext(modelAt));
    } catch (error) {
      failures.push(`${model}: ${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
}
console.log(JSON.stringify({ cases, failures }));
