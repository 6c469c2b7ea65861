/**
 * One thread of the crash lab.
 *
 * @module
 */
/// <reference lib="webworker" />
import { runLab } from "../testing/mod.ts";
import { judgesDecoder } from "./judges_decoder.ts";
import type { LabTask, LabWord } from "./lab_threads.ts";

/** How often a thread says how far it is, in milliseconds. */
const WORD_MS = 200;

const say = (word: LabWord) => (self as unknown as { postMessage(word: LabWord): void }).postMessage(word);

self.addEventListener("message", (event) => {
  const task = (event as MessageEvent<LabTask>).data;
  let saidMs = performance.now();
  runLab({
    ...task,
    bench: { decodeFrame: judgesDecoder },
    onUnit: (tally) => {
      const nowMs = performance.now();
      if (nowMs - saidMs < WORD_MS) return;
      saidMs = nowMs;
      say({ tally, isDone: false });
    },
  }).then(
    (tally) => say({ tally, isDone: true }),
    (error) => say({ failure: error instanceof Error ? error.stack ?? error.message : String(error) }),
  );
});
