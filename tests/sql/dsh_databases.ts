/**
 * Copies of a database of another program, to be changed as a test needs it.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";

/** Runs with the path of a copy that may be written, alone in a folder. */
export async function withCopy(database: string, act: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-dsh-" });
  try {
    const path = `${folder}/s.db`;
    await Deno.copyFile(database, path);
    await Deno.chmod(path, 0o600);
    await act(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs statements on a database and closes it. */
export function applyStatements(path: string, statements: readonly string[]): void {
  const database = new DatabaseSync(path);
  try {
    for (const statement of statements) database.exec(statement);
  } finally {
    database.close();
  }
}
