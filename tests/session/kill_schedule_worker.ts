/**
 * A process of the kill schedule in a browser: a worker over the origin's private files. It is ended with `terminate()`.
 *
 * @module
 */
import { openOpfsStorage } from "../../src/entry/opfs.ts";
import type { OrderAnswer } from "../../src/tools/pack/keyed_target.ts";
import { live, type Order } from "./kill_schedule.ts";

const scope = globalThis as unknown as {
  postMessage(message: unknown): void;
  onmessage: ((event: MessageEvent) => void) | null;
};

let answered: (answer: OrderAnswer) => void = () => {};
scope.onmessage = async ({ data }) => {
  if (!("order" in data)) return answered(data.answer);
  await live(data.order as Order, {
    say: (said) => scope.postMessage(said),
    answer: () => new Promise((resolve) => answered = resolve),
  }, await openOpfsStorage());
};
