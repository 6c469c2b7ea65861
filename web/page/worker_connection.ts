/**
 * Starts the real worker, which lies beside the page's script.
 *
 * @module
 */
import { connectWorker, followPageState } from "../client.ts";
import type { Connection } from "./client.ts";

/** Starts a worker and follows the page's life for it. */
export function workerConnection(): Connection {
  const client = connectWorker(new Worker(workerUrl(), { type: "module" }));
  const stopFollowing = followPageState(client);
  client.died.then(stopFollowing);
  return { client, terminate: () => client.terminate(), died: client.died };
}

/** The worker's address. It is told which bank to pay at when the page's address names one: a path of this origin. */
function workerUrl(): URL {
  const url = new URL("./worker.js", import.meta.url);
  const bank = new URLSearchParams(location.search).get("bank");
  if (bank !== null) url.searchParams.set("bank", bank);
  return url;
}
