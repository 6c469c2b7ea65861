/**
 * A SQLite store whose disk gets full between two appends, below a limit or inside of a small tmpfs: prints what was found.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { unlinkSync, writeFileSync } from "node:fs";
import process from "node:process";
import { openSqliteStore } from "../../../src/entry/sqlite.ts";
import { eventsOf, headerOf, readAll } from "../../../src/testing/session_store_context.ts";
import type { SessionEvent } from "../../../mod.ts";

/** What it shall do. */
export interface FullDiskOrder {
  readonly path: string;
  /** What is written until there is no room; `null` where a limit says so. */
  readonly filler: string | null;
  /** How much an event has that finds no room, in characters. */
  readonly ballast: number;
}

/** What it found. */
export interface FullDiskFound {
  /** Of an append, of a blob, and of a session that is new. */
  readonly codes: readonly string[];
  readonly nextSeqWhenFull: number;
  readonly seqsWhenFull: readonly number[];
  /** The seq of an append once there was room. */
  readonly appended: number;
  readonly seqsAtEnd: readonly number[];
  readonly isNewThere: boolean;
  readonly integrity: unknown;
}

/** More than any disk of these tests has. */
const FILL_BYTES_MAX = 64 * 1024 * 1024;

function fill(path: string): void {
  for (let bytes = 0; bytes < FILL_BYTES_MAX; bytes += 4096) {
    try {
      writeFileSync(path, new Uint8Array(4096).fill(1), { flag: "a" });
    } catch {
      return;
    }
  }
  throw new Error("The disk does not get full");
}

const codeOf = (work: () => Promise<unknown>) => work().then(() => "", (error) => String(error.code ?? error));
const seqsOf = (events: readonly SessionEvent[]) => events.map(({ seq }) => seq);

const { path, filler, ballast } = JSON.parse(process.argv[2] ?? "") as FullDiskOrder;
const store = openSqliteStore({ path });
const log = await store.create(headerOf("a"));
await log.append(eventsOf(0, 3));
if (filler !== null) fill(filler);
const [plain] = eventsOf(3, 1);
const large = { ...plain!, type: "feedback/record", data: { text: "x".repeat(ballast) } } as SessionEvent;
const codes = [
  await codeOf(() => log.append([large])),
  await codeOf(() => log.putBlob(new Uint8Array(ballast))),
  await codeOf(async () => (await store.create(headerOf("b"))).append([{ ...large, seq: 0 }])),
];
const nextSeqWhenFull = log.state().nextSeq;
const seqsWhenFull = seqsOf(await readAll(log));
if (filler !== null) unlinkSync(filler);
const appended = await log.append(eventsOf(3, 2));
await store.close();

const again = openSqliteStore({ path });
const writer = await again.open("a", "write");
await writer.append(eventsOf(5, 1));
const seqsAtEnd = seqsOf(await readAll(writer));
const isNewThere = await again.stat("b") !== null;
await again.close();
const database = new DatabaseSync(path, { readOnly: true });
const integrity = Object.values(database.prepare("PRAGMA integrity_check").get()!)[0];
database.close();
const found: FullDiskFound = { codes, nextSeqWhenFull, seqsWhenFull, appended, seqsAtEnd, isNewThere, integrity };
console.log(JSON.stringify(found));
