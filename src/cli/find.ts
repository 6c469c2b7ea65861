/**
 * Finds the session a person means by `ID`.
 *
 * @module
 */
import { NotFoundError, type SessionRow, type SessionStore } from "../../mod.ts";
import { deletionOf } from "./deletions.ts";
import { humanTime } from "./format.ts";
import { UsageError } from "./usage.ts";

/** How many ids are named when a prefix fits several. */
const IDS_NAMED_MAX = 5;

/**
 * The one session whose id is, or begins with, `prefix`.
 *
 * @param root the store's folder, to say of a deleted session that it was deleted
 * @throws {NotFoundError}
 * @throws {UsageError} when several ids begin with it
 */
export async function findSession(store: SessionStore, root: string, prefix: string): Promise<SessionRow> {
  if (prefix === "") throw new UsageError("Cannot find a session: the id is empty");
  const exact = await store.stat(prefix);
  if (exact !== null) return exact;
  const found: SessionRow[] = [];
  for await (const row of store.list()) if (row.id.startsWith(prefix)) found.push(row);
  if (found.length === 1) return found[0]!;
  if (found.length === 0) throw new NotFoundError(`Cannot find session "${prefix}": ${whyNot(root, prefix)}`);
  const ids = found.slice(0, IDS_NAMED_MAX).map((row) => row.id).join(", ");
  const more = found.length > IDS_NAMED_MAX ? ", …" : "";
  throw new UsageError(`Cannot tell which session "${prefix}" is: ${found.length} ids begin with it: ${ids}${more}`);
}

function whyNot(root: string, id: string): string {
  const deletion = deletionOf(root, id);
  if (deletion !== null) return `it was deleted on ${humanTime(deletion.time)} UTC (${deletion.why})`;
  return "no id is or begins with it (holdfast ls shows them)";
}
