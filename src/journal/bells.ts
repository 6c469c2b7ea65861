/**
 * Who waits for news of which log: the same for every store.
 *
 * @module
 */
export { Bell, Bells } from "../store/bells.ts";
