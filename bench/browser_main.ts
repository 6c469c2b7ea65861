/**
 * The worker that is measured in a browser. It is posted one request, with the name of the runtime, and posts messages back.
 *
 * @module
 */
import { answer, type BenchRequest } from "./messages.ts";
import { browserPlace } from "./places/browser_place.ts";

addEventListener("message", ({ data }: MessageEvent<{ request: BenchRequest; runtime: string }>) => {
  void answer(data.request, () => browserPlace(data.runtime), (message) => postMessage(message));
});
