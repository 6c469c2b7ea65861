/**
 * The worker that is measured in a browser. It is posted one request, with the name of the runtime, and posts messages back.
 *
 * @module
 */
import { timerStepMs } from "./clock_steps.ts";
import { answer, type BenchRequest } from "./messages.ts";
import { browserPlace } from "./places/browser_place.ts";
import { SQLITE_WASM, sqliteWasmWriter } from "./places/sqlite_wasm_writer.ts";

addEventListener("message", ({ data }: MessageEvent<{ request: BenchRequest; runtime: string }>) => {
  const sqlite = { name: SQLITE_WASM, make: (folder: string) => sqliteWasmWriter(folder, "/sqlite3.wasm") };
  const absent = [{ name: "node:sqlite WAL FULL", reason: "a browser has none" }];
  const notes = [`The clock moves in steps of ${(timerStepMs(() => performance.now()) * 1000).toFixed(0)} µs.`];
  void answer(
    data.request,
    () => browserPlace(data.runtime, { moreWriters: [sqlite], absent }),
    (message) =>
      postMessage(message.kind === "result" ? { ...message, result: { ...message.result, notes } } : message),
  );
});
