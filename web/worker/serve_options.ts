/**
 * What a worker is made of by whoever embeds it.
 *
 * @module
 */
import type { SessionStore, Tool } from "../../mod.ts";
import type { RawLogs } from "../../src/entry/raw_logs.ts";
import type { Bank } from "./bank.ts";
import type { WorkerScope } from "./browser.ts";
import type { ModelMaker } from "./models.ts";
import type { Platform } from "./platform.ts";
import type { FileChangeOf } from "./questions.ts";

/** A store, and what can be done with its logs as bytes. */
export interface OpenedStore {
  /** Where sessions are kept. The worker owns it. */
  readonly store: SessionStore;
  /** Absent: export and import are refused. */
  readonly logs?: RawLogs;
}

/** How a worker serves its page. */
export interface ServeOptions {
  /** Where the page's messages arrive. Default: the global scope. Not used with a `platform`. */
  readonly scope?: WorkerScope;
  /** Default: the browser the worker runs in. */
  readonly platform?: Platform;
  /**
   * Opens the medium; called at the page's `hello`, and again after a loss. Rejects with the cause when there is none. With
   * `volatile` the page accepts one that keeps nothing.
   */
  readonly openStore: (options: { readonly volatile: boolean }) => Promise<OpenedStore | SessionStore>;
  /** What the agent can do. Default: nothing. */
  readonly tools?: readonly Tool[];
  /** Stands at the head of every conversation. Default: none. */
  readonly systemPrompt?: string;
  /** Makes the model of a choice. Default: the demo model, and endpoints that speak the chat-completions protocol. */
  readonly models?: ModelMaker;
  /** Says what a call would change in a file, for the person who is asked. Default: nothing. */
  readonly fileChangeOf?: FileChangeOf;
  /** A pretend bank whose book the page may look at. Default: none. */
  readonly bank?: Bank;
  /** What `hello` answers as the worker's version. */
  readonly version?: string;
}
