/**
 * Starts the real worker, which lies beside the page's script.
 *
 * @module
 */
import { connectWorker, followPageState } from "../client.ts";
import type { ServerTokenMessage } from "../protocol.ts";
import type { Connection } from "./client.ts";
import { serverToken } from "./server_token.ts";

/** Where the server that gave the page runs commands, in its own origin. */
const SANDBOX_PATH = "/v1/sandbox/exec";

/** Starts a worker and follows the page's life for it. */
export function workerConnection(): Connection {
  const token = serverToken();
  const worker = new Worker(workerUrl(token !== null), { type: "module" });
  if (token !== null) worker.postMessage({ kind: "server-token", token } satisfies ServerTokenMessage);
  const client = connectWorker(worker);
  const stopFollowing = followPageState(client);
  client.died.then(stopFollowing);
  return { client, terminate: () => client.terminate(), died: client.died };
}

/**
 * The worker's address. It is told which bank to pay at when the page's address names one, and where commands run when there is a
 * token for that: paths of this origin. The token itself is posted.
 */
function workerUrl(hasServer: boolean): URL {
  const url = new URL("./worker.js", import.meta.url);
  const bank = new URLSearchParams(location.search).get("bank");
  if (bank !== null) url.searchParams.set("bank", bank);
  if (hasServer) url.searchParams.set("sandbox", SANDBOX_PATH);
  return url;
}
