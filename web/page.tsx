/**
 * The page's entry: starts the worker and draws.
 *
 * @module
 */
import { render } from "preact";
import { App } from "./page/app.tsx";
import { browserSurroundings } from "./page/browser.ts";
import { serverToken } from "./page/server_token.ts";
import { lookAtFile } from "./page/inspector.ts";
import { workerConnection } from "./page/worker_connection.ts";
import { tabMemory } from "./page/memory.ts";
import { PageStore } from "./page/page_store.ts";

// Before anything else: an address with a token in it is not to be seen.
serverToken();
// Typed into an open page, it comes without a reload; the worker is told at its start.
addEventListener("hashchange", () => {
  if (new URLSearchParams(location.hash.slice(1)).has("token") && serverToken() !== null) location.reload();
});

const store = new PageStore(workerConnection, tabMemory(), browserSurroundings());
render(<App store={store} lookAt={lookAtFile} />, document.getElementById("page")!);
store.start();
