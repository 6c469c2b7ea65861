/**
 * Following a log as it grows: the same for every store.
 *
 * @module
 */
export { type Watched, watchLog } from "../store/watch.ts";
