/**
 * Migration of a session in files.
 *
 * @module
 */
import { openFileStorage } from "../adapters/file/mod.ts";
import { nodeZstd } from "../frame/node_zstd.ts";
import { type JournalLimits, migrateLog, type Migration } from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { OpenOptions } from "../store/session_store.ts";
import { smallHeap } from "./small_heap.ts";
import { systemRuntime } from "./system.ts";
import { verifyOnThread } from "./verify_thread.ts";

export type { Migration } from "../journal/mod.ts";

/** Where the session is. */
export interface FileMigration {
  /** The store's folder. */
  readonly root: string;
  /** Bounds of the journal to move; the others keep their defaults. */
  readonly limits?: Partial<JournalLimits>;
  /** Default: the system's. */
  readonly runtime?: Runtime;
}

/**
 * Brings a session of an older version to the current one: what comes of it is published beside the old file, which stays as it
 * is for ever. Bounded in memory, whatever the size of the log.
 *
 * @throws as opening the session for writing does, and {@linkcode AlreadyExistsError} when another current log appeared meanwhile
 *
 * @example
 * ```ts
 * import { migrateFileSession } from "./migrate_file.ts";
 *
 * const root = await Deno.makeTempDir();
 * await Deno.mkdir(`${root}/_no-cwd/a`, { recursive: true });
 * const header = { type: "session", version: 0, id: "a", createdAt: 0, delegationDepth: 0 };
 * await Deno.writeTextFile(`${root}/_no-cwd/a/session.jsonl`, JSON.stringify(header) + "\n");
 * if ((await migrateFileSession({ root }, "a")).outcome !== "published") throw new Error("unreachable");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export async function migrateFileSession(
  { root, limits, runtime = systemRuntime }: FileMigration,
  id: string,
  options: Pick<OpenOptions, "onMigration" | "signal" | "waitMs"> = {},
): Promise<Migration> {
  const storage = openFileStorage({ root });
  const journal = { storage, codec: nodeZstd(), ...runtime, limits, verifyStage: verifyOnThread };
  const keepSmall = smallHeap();
  try {
    return await migrateLog(journal, id, {
      ...options,
      onMigration(progress) {
        keepSmall();
        options.onMigration?.(progress);
      },
    });
  } finally {
    await storage.close();
  }
}
