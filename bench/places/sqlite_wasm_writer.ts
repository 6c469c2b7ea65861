/**
 * SQLite in a browser, as durable as it can be made there: sync handles in a pool, one connection, WAL, every commit flushed.
 *
 * @module
 */
import sqlite3InitModule from "@sqlite.org/sqlite-wasm";
import type { RawWriter } from "../bench_case.ts";

/** How the table calls it. */
export const SQLITE_WASM = "sqlite-wasm OPFS, WAL FULL";

/**
 * Makes a writer.
 *
 * @param folder below the origin's root
 * @param wasmUrl where the program is
 * @throws what SQLite or the browser throws
 *
 * @example
 * ```ts
 * import { sqliteWasmWriter } from "./sqlite_wasm_writer.ts";
 *
 * const inAWorker = () => sqliteWasmWriter("bench", "/sqlite3.wasm");
 * if (typeof inAWorker !== "function") throw new Error("unreachable");
 * ```
 */
export async function sqliteWasmWriter(folder: string, wasmUrl: string): Promise<RawWriter> {
  // Its types do not say that the module takes options of Emscripten.
  const init = sqlite3InitModule as unknown as (options: object) => ReturnType<typeof sqlite3InitModule>;
  const sqlite3 = await init({ locateFile: () => wasmUrl, print() {}, printErr() {} });
  const pool = await sqlite3.installOpfsSAHPoolVfs({ directory: `${folder}/sqlite`, name: `${folder}-pool` });
  let opened = 0;
  return {
    name: SQLITE_WASM,
    open() {
      const database = new pool.OpfsSAHPoolDb(`/bench-${opened++}.sqlite`);
      // Without shared memory WAL needs the only connection to say that it is the only one, before it begins.
      database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      database.exec("CREATE TABLE log (batch BLOB NOT NULL)");
      const insert = database.prepare("INSERT INTO log (batch) VALUES (?)");
      return Promise.resolve({
        write(bytes) {
          insert.bind(1, bytes).stepReset();
        },
        close() {
          insert.finalize();
          database.close();
        },
      });
    },
  };
}
