/**
 * The crash schedule for a worker. Posts its result.
 *
 * @module
 */
import { runSchedule } from "./crash_schedule.ts";

(globalThis as unknown as { postMessage(message: unknown): void }).postMessage(await runSchedule());
