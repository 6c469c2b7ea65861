/**
 * `holdfast migrate`: bring a session of an older version to the current one.
 *
 * @module
 */
import { join } from "node:path";
import type { MigrationProgress } from "../../../mod.ts";
import { migrateFileSession, type Migration } from "../../entry/file.ts";
import type { Command } from "../command.ts";
import { findSession } from "../find.ts";
import { counted, humanSize } from "../format.ts";

/** Publishes the current generation of a session. Exit code 1 when it cannot be brought there, with the reason. */
export const migrate: Command = {
  spec: {
    name: "migrate",
    positionals: "ID",
    help: "publish a session of an older format version in the current one; the old file stays as it is",
    flags: {},
    count: [1, 1],
  },
  async run({ args, out, root, openStore }) {
    await using store = await openStore();
    const { id } = await findSession(store, root, args.positionals[0]!);
    using line = out.progress(`migrating session ${id}`);
    const migration = await migrateFileSession({ root }, id, {
      onMigration: (progress) => line.report(`migrating session ${id}: ${progressText(progress)}`),
    });
    const file = join(root, migration.log);
    out.json({ ...migration, log: undefined, file });
    out.line(resultText(migration, file));
    return 0;
  },
};

function progressText({ phase, doneBytes, sizeBytes }: MigrationProgress): string {
  if (phase === "published") return "published";
  const share = `${humanSize(doneBytes)} of ${humanSize(sizeBytes)}`;
  return phase === "writing" ? `read ${share}` : `checked ${share} of what was written`;
}

function resultText({ id, outcome, from, to, events, sizeBytes }: Migration, file: string): string {
  if (outcome === "current") return `Session ${id} is of version ${to} already`;
  const size = events === null || sizeBytes === null ? "" : `: ${counted(events, "event")}, ${humanSize(sizeBytes)}`;
  const how = outcome === "published" ? "Published" : "Another process had just published";
  return `${how} session ${id} in version ${to} (it was of version ${from})${size}\n${file}`;
}
