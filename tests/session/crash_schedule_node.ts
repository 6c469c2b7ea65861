/**
 * The crash schedule for Node. Prints its result as JSON.
 *
 * @module
 */
import { runSchedule } from "./crash_schedule.ts";

console.log(JSON.stringify(await runSchedule()));
