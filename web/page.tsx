/**
 * The page's entry: starts the worker and draws.
 *
 * @module
 */
import { render } from "preact";
import { App } from "./page/app.tsx";
import { browserSurroundings } from "./page/browser.ts";
import { workerConnection } from "./page/worker_connection.ts";
import { tabMemory } from "./page/memory.ts";
import { PageStore } from "./page/page_store.ts";

const store = new PageStore(workerConnection, tabMemory(), browserSurroundings());
render(<App store={store} />, document.getElementById("page")!);
store.start();
