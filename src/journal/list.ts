/**
 * Every session of a root, one row each, whatever state it is in.
 *
 * @module
 */
import type { SessionRow } from "../store/session_store.ts";
import type { JournalContext } from "./context.ts";
import { foundIn } from "./finding.ts";
import { idOfFolder } from "./layout.ts";
import { duplicateText, flatText, isUnreadable, locate, placeOf } from "./locate.ts";
import { rowOf, strangerRow } from "./row.ts";

/** Something that gets a row: a session's folder, or what stands where one should. */
type Candidate =
  | { readonly id: string; readonly folder: string }
  | { readonly id: string; readonly row: SessionRow };

/** All rows, ascending by id. Holds the names of all sessions and the bytes of one. */
export async function* listSessions(context: JournalContext): AsyncGenerator<SessionRow, void, undefined> {
  const candidates = await candidatesIn(context);
  candidates.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  for (const [index, candidate] of candidates.entries()) {
    if ("row" in candidate) {
      yield candidate.row;
      continue;
    }
    const row = await folderRow(context, candidate);
    if (row === null) continue;
    const hasTwin = [candidates[index - 1], candidates[index + 1]].some((other) =>
      other !== undefined && "folder" in other && other.id === candidate.id
    );
    yield hasTwin ? await twinRow(context, row) : row;
  }
}

/** The row of one id, `null` when there is no such session. */
export async function statSession(context: JournalContext, id: string): Promise<SessionRow | null> {
  const { places: [place, second], flat, unreadable } = await locate(context.storage, id);
  if (place !== undefined) {
    const row = await rowOf(context, place);
    return second === undefined || row === null ? row : await twinRow(context, row);
  }
  if (flat !== null) return strangerRow(id, flat, "unsupported", flatText(flat));
  if (unreadable !== null) throw unreadable;
  return null;
}

/** The row of a session's folder; `null` when it holds no log. */
async function folderRow(
  context: JournalContext,
  { id, folder }: { id: string; folder: string },
): Promise<SessionRow | null> {
  try {
    const place = placeOf(folder, await context.storage.list(folder));
    return place === null ? null : await rowOf(context, place);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return strangerRow(id, folder, "damaged", foundIn(error));
  }
}

/** An id in two places is damage in both: nobody can say which is meant. */
async function twinRow(context: JournalContext, row: SessionRow): Promise<SessionRow> {
  const { places } = await locate(context.storage, row.id);
  return places.length < 2 ? row : { ...row, state: "damaged", reason: duplicateText(places) };
}

async function candidatesIn({ storage }: JournalContext): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  for (const { name: project, kind } of await storage.list("")) {
    if (kind === "file") continue;
    if (kind === "other") {
      candidates.push(strangeEntry(project));
      continue;
    }
    try {
      for (const entry of await storage.list(project)) {
        const name = entry.name.slice(project.length);
        if (entry.kind === "folder") {
          const folder = name.slice(0, -1);
          candidates.push({ id: idOfFolder(folder) ?? folder, folder: entry.name });
        } else if (entry.kind === "other") {
          candidates.push(strangeEntry(entry.name));
        } else if (/\.jsonl(\.zstd)?$/.test(name)) {
          const id = name.replace(/\.jsonl(\.zstd)?$/, "");
          candidates.push({ id, row: strangerRow(id, entry.name, "unsupported", flatText(entry.name)) });
        }
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      candidates.push({ id: project, row: strangerRow(project, project, "damaged", foundIn(error)) });
    }
  }
  return candidates;
}

/** A link could lead anywhere, so nothing below the root is read through one. */
function strangeEntry(name: string): Candidate {
  const id = name.slice(name.lastIndexOf("/") + 1);
  return { id, row: strangerRow(id, name, "damaged", `"${name}" is a link or a device, which is not followed`) };
}
