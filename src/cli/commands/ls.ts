/**
 * `holdfast ls`: every session with its state and the reason.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { attentionText, hasCode, HoldfastError, type SessionRow, type SessionStore } from "../../../mod.ts";
import type { Command } from "../command.ts";
import { columns, counted, humanSize, humanTime, piece } from "../format.ts";
import { examine, found } from "../inspect.ts";
import type { Output } from "../output.ts";
import { isWhole, lossText } from "../spilled_report.ts";

/**
 * Lists the sessions under the root. Exit code 1 when one is damaged. With `--verify` that is also one whose log is whole and that
 * has lost a long result beside it.
 */
export const ls: Command = {
  spec: {
    name: "ls",
    positionals: "",
    help: "list sessions with their state: ok, open, damaged, unsupported, unchecked",
    flags: { verify: { help: "read every log whole, and its long results, so that no state is unchecked" } },
    count: [0, 0],
  },
  async run({ args, out, root, storeName, openStore }) {
    await using store = await openStore();
    const rows: SessionRow[] = [];
    {
      using line = out.progress("listing");
      for await (const row of store.list()) {
        const checked = args.has("verify") ? await verified(store, root, row, out) : row;
        if (checked !== null) rows.push(checked);
        line.report(`listing: ${counted(rows.length, "session")}`);
      }
    }
    out.json(rows);
    print(out, root, storeName, rows);
    return rows.some((row) => row.state === "damaged") ? 1 : 0;
  },
};

/** The row after a reading of the whole log; `null` when the session was removed meanwhile. */
async function verified(store: SessionStore, root: string, row: SessionRow, out: Output): Promise<SessionRow | null> {
  if (row.state === "damaged" || row.state === "unsupported") return row;
  const file = join(root, row.name);
  try {
    let lastEventTime = row.lastEventTime;
    const { verdict: { damage, open, spilled }, folds } = await examine({
      ...row,
      file,
      open: (options) =>
        store.open(row.id, "read", {
          visit(event) {
            lastEventTime = event.time;
            options.visit?.(event);
          },
        }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }, out);
    if (damage !== null) {
      const state = damage.code === "UNSUPPORTED_FORMAT" ? "unsupported" : "damaged";
      return { ...row, lastEventTime, state, reason: damage.message };
    }
    const reason = attentionText(open?.turn ?? null, folds.unresolved);
    if (spilled !== undefined && !isWhole(spilled)) {
      const lost = `the log is whole, and ${lossText(spilled)}`;
      return { ...row, lastEventTime, state: "damaged", reason: reason === null ? lost : `${lost}; ${reason}` };
    }
    return { ...row, lastEventTime, state: open === null ? "ok" : "open", reason };
  } catch (error) {
    if (hasCode(error, "NOT_FOUND")) return null;
    // Whatever is wrong with one session is in its row, and does not hide the others.
    if (!(error instanceof HoldfastError)) throw error;
    return { ...row, state: "damaged", reason: found(error) };
  }
}

function print(out: Output, root: string, storeName: string | null, rows: readonly SessionRow[]): void {
  if (rows.length === 0) {
    if (storeName !== null) return out.note(`No sessions in ${storeName}`);
    return out.note(existsSync(root) ? `No sessions in ${root}` : `No sessions: there is no folder ${root}`);
  }
  const table = rows.map((row) => [
    piece(row.id),
    row.live ? `${row.state}*` : row.state,
    humanSize(row.sizeBytes),
    timeOf(row),
    row.header?.cwd ?? "",
    reasonOf(row),
  ]);
  for (const text of columns([["ID", "STATE", "SIZE", "LAST EVENT", "FOLDER", "REASON"], ...table])) out.line(text);
  if (rows.some((row) => row.live)) out.note("* a writer holds it now");
}

/** The time of the newest event; that of the start when there is none yet. */
function timeOf({ lastEventTime, header }: SessionRow): string {
  const time = lastEventTime ?? header?.createdAt;
  return time === undefined ? "" : humanTime(time);
}

function reasonOf({ reason, state, name }: SessionRow): string {
  if (reason === null) return "";
  const where = state === "damaged" || state === "unsupported" ? ` [${name}]` : "";
  return `${piece(reason)}${where}`;
}
