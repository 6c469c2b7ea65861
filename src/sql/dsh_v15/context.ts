/**
 * What the store over a database of another program and its logs have in common.
 *
 * @module
 */
import type { Runtime } from "../../runtime/runtime.ts";
import type { SessionStore } from "../../store/session_store.ts";
import type { SqlTransaction } from "../sql_port.ts";
import type { V0Header } from "./v0_header.ts";

/** What every log of one store shares. */
export interface DshContext {
  readonly traits: SessionStore["traits"];
  readonly runtime: Runtime;
  /** Runs reads, after a look whose database it is. Throws {@link NotFoundError} when there is none. */
  read<Result>(act: (transaction: SqlTransaction) => Promise<Result>): Promise<Result>;
  /** The header of a session; `null` when there is no such session. */
  headerOf(transaction: SqlTransaction, id: string): Promise<V0Header | null>;
}
