/**
 * The run of `ai_sdk_agent.ts` for Node. Prints it as JSON.
 *
 * @module
 */
import { runAgentOnAiSdk } from "./ai_sdk_agent.ts";

console.log(JSON.stringify(await runAgentOnAiSdk()));
