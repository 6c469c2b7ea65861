/**
 * Logs as files: export and import. A log with long results beside it is a zip archive of both.
 *
 * @module
 */
import { Hono } from "hono";
import {
  AlreadyExistsError,
  checkSpilled,
  copyBlobs,
  encodeHeader,
  encodeRow,
  type ErrorCode,
  hasCode,
  isEvent,
  logFold,
  type LogReader,
  type SessionEvent,
  type SessionHeader,
  type SessionStore,
  type SpilledCheck,
  spilledDigests,
} from "../../mod.ts";
import { archiveChunks, type LogArchive, unpackLog } from "../entry/raw_logs.ts";
import { readBody } from "./body.ts";
import {
  IMPORT_BATCH_EVENTS_MAX,
  IMPORT_CONTENT_LENGTH_MAX,
  IMPORT_MEMBERS_MAX,
  IMPORT_SIZE_BYTES_MAX,
  IMPORT_UNPACKED_BYTES_MAX,
} from "./limits.ts";
import { Refusal } from "./problem.ts";
import { EXPORT_QUERY, ID, IMPORT_QUERY } from "./schemas.ts";
import { query, type ServerEnv, tenantOf, textCheck } from "./validate.ts";

const checkId = textCheck(ID, "the id of a session");

/** How much plain text one frame of an export holds, in UTF-16 units; only a single row may be larger. */
const FRAME_LENGTH_MAX: number = 256 * 1024;

/**
 * `/v1/sessions/:id/export` and `/v1/sessions/import`.
 *
 * @example
 * ```ts
 * import { logRoutes } from "./log_routes.ts";
 *
 * if (logRoutes().routes.length === 0) throw new Error("unreachable");
 * ```
 */
export function logRoutes() {
  return new Hono<ServerEnv>()
    .get("/sessions/:id/export", query(EXPORT_QUERY), async (c) => {
      const { store, parts: { encodeFrame }, streams } = tenantOf(c);
      const id = await checkId(c.req.param("id"));
      const { to = "jsonl" } = c.req.valid("query");
      if (to === "zstd" && encodeFrame === undefined) {
        throw new Refusal(400, "INVALID_REQUEST", "Cannot export to zstd: this server has no encoder");
      }
      const encode = to === "zstd" ? encodeFrame! : encodeLines;
      const giveBack = streams.take();
      let exported: Exported;
      try {
        exported = await openExport(store, id, { encode, isZstd: to === "zstd" });
      } catch (error) {
        giveBack();
        throw error;
      }
      const { reader, chunks, ending, type, missing } = exported;
      // Of a damaged log comes what lies before the damage, and the header says so.
      const { fault } = reader.state();
      return c.body(streamOf(reader, chunks, giveBack), 200, {
        "content-type": type,
        "content-disposition": `attachment; filename="${id}.${ending}"`,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        ...(fault === null ? {} : { "holdfast-damage": fault.code }),
        ...(missing === 0 ? {} : { "holdfast-missing-results": String(missing) }),
      });
    })
    .post("/sessions/import", query(IMPORT_QUERY), async (c) => {
      const { store, parts } = tenantOf(c);
      if (c.get("isDraining")()) throw new Refusal(503, "DRAINING", "Cannot import: the server is going down");
      if (!/^application\/(?:octet-stream|zstd|x-ndjson|zip)$/i.test(c.req.header("content-type") ?? "")) {
        throw new Refusal(
          415,
          "UNSUPPORTED_MEDIA_TYPE",
          "Cannot import: wanted content-type application/zstd, application/x-ndjson, application/zip or application/octet-stream",
        );
      }
      const body = await readBody(c.req.raw, IMPORT_SIZE_BYTES_MAX, c.get("clock"));
      const imported = await unpacked(body).then((archive) =>
        parts.withLog(archive?.bytes ?? body, async (reader) => {
          const { fault } = reader.state();
          if (fault !== null) throw notALog(fault.code, fault.message);
          const id = await checkId(c.req.valid("query").id ?? reader.header.id);
          const header = { ...reader.header, id };
          return { id, ...await importLog(store, reader, header, { archive, lengthMax: parts.importLengthMax }) };
        })
      ).catch((error) => {
        throw hasAnyCode(error, UNREADABLE) ? notALog(error.code, error.message) : error;
      });
      return c.json(imported, 201, { location: `/v1/sessions/${imported.id}` });
    });
}

/** The archive that a body is; `null` when it is none. */
async function unpacked(body: Uint8Array<ArrayBuffer>): Promise<LogArchive | null> {
  return await unpackLog("import.zip", body, {
    membersMax: IMPORT_MEMBERS_MAX,
    contentSizeBytesMax: IMPORT_UNPACKED_BYTES_MAX,
  });
}

/** What an import is refused with when the bytes are no log of this version. */
const UNREADABLE = ["CORRUPT_FRAME", "CORRUPT_LOG", "UNSUPPORTED_FORMAT", "UNKNOWN_EVENT", "SEQUENCE_GAP"] as const;

function notALog(code: string, found: string): Refusal {
  const said = `Cannot import: the bytes are no whole log of this version: ${found}`;
  return new Refusal(422, "INVALID_REQUEST", said, { fault: code });
}

function hasAnyCode(error: unknown, codes: readonly ErrorCode[]): error is Error & { readonly code: string } {
  return codes.some((code) => hasCode(error, code));
}

/** What of a log was taken in. */
interface ImportedLog {
  /** How many events it has. */
  readonly events: number;
  /** The long results it names, and those that did not come with it. */
  readonly spilled: SpilledCheck;
}

/** Copies a log under its header, and out of its archive the long results that it names. All of it, or nothing. */
async function importLog(
  store: SessionStore,
  reader: LogReader,
  header: SessionHeader,
  { archive, lengthMax = IMPORT_CONTENT_LENGTH_MAX }: {
    readonly archive: LogArchive | null;
    readonly lengthMax?: number;
  },
): Promise<ImportedLog> {
  if (await store.stat(header.id) !== null) {
    throw new AlreadyExistsError(`Cannot import session "${header.id}": the id is taken`);
  }
  // Looked at before anything is written: what no session could go on with is not taken in.
  let folds = logFold.initial();
  let length = 0;
  for await (const events of pages(reader)) {
    for (const event of events) {
      length += encodeRow(event).length;
      if (length > lengthMax) {
        throw new Refusal(
          413,
          "TOO_LARGE",
          `Cannot import: its rows have over ${lengthMax} characters`,
        );
      }
      folds = logFold.apply(folds, event);
    }
  }
  const { fault } = folds.surface;
  if (fault !== null) throw new Refusal(422, "INVALID_REQUEST", `Cannot import: event ${fault.seq}: ${fault.message}`);

  const writer = await store.create(header);
  let isPublished = false;
  try {
    await writer.materialize();
    isPublished = true;
    // Durable before the events that name them.
    if (archive !== null) await copyBlobs(archive, writer, spilledDigests(folds.spilled));
    for await (const events of pages(reader)) await writer.append(events);
    const spilled = await checkSpilled(writer, folds.spilled.texts);
    await writer.close();
    return { events: folds.nextSeq, spilled };
  } catch (error) {
    await writer.close().catch(() => {});
    if (isPublished) await store.delete(header.id).catch(() => {});
    throw error;
  }
}

/** What is exported. The caller closes `reader`. */
interface Exported {
  readonly reader: LogReader;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Of the file's name. */
  readonly ending: string;
  readonly type: string;
  /** How many long results the log names that are not there. */
  readonly missing: number;
}

async function openExport(
  store: SessionStore,
  id: string,
  { encode, isZstd }: { readonly encode: (rows: readonly string[]) => Uint8Array; readonly isZstd: boolean },
): Promise<Exported> {
  const named = new Set<string>();
  const visit = (event: SessionEvent) => {
    if (isEvent(event, "result/spilled")) named.add(event.data.digest);
  };
  const reader = await store.open(id, "read", { visit });
  try {
    const ending = isZstd ? "jsonl.zstd" : "jsonl";
    // A log that is written meanwhile grows, and what it names then is not looked for.
    const end = reader.state().nextSeq;
    const encodeLog = () => encoded(reader, encode, end);
    if (named.size === 0) {
      const type = isZstd ? "application/zstd" : "application/x-ndjson";
      return { reader, chunks: encodeLog(), ending, type, missing: 0 };
    }
    const log = { name: `session.v${reader.header.version}.${ending}`, encode: encodeLog };
    const { chunks, missing } = await archiveChunks(reader, log, [...named]);
    return { reader, chunks, ending: "zip", type: "application/zip", missing: missing.length };
  } catch (error) {
    await reader.close();
    throw error;
  }
}

async function* encoded(
  reader: LogReader,
  encode: (rows: readonly string[]) => Uint8Array,
  end: number,
): AsyncGenerator<Uint8Array> {
  yield encode([encodeHeader(reader.header)]);
  for await (const events of pages(reader)) {
    let rows: string[] = [];
    let length = 0;
    for (const row of events.filter(({ seq }) => seq < end).map(encodeRow)) {
      if (rows.length > 0 && length + row.length > FRAME_LENGTH_MAX) {
        yield encode(rows);
        [rows, length] = [[], 0];
      }
      rows.push(row);
      length += row.length;
    }
    if (rows.length > 0) yield encode(rows);
    if (events.at(-1)!.seq >= end - 1) return;
  }
}

function streamOf(
  reader: LogReader,
  chunks: AsyncIterable<Uint8Array>,
  giveBack: () => void,
): ReadableStream<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  const end = async () => {
    giveBack();
    await reader.close();
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = await source.next();
        if (done !== true) return controller.enqueue(value);
      } catch (error) {
        await end();
        throw error;
      }
      await end();
      controller.close();
    },
    async cancel() {
      await source.return?.(undefined);
      await end();
    },
  });
}

async function* pages(reader: LogReader) {
  for (let from: number | null = 0; from !== null;) {
    const { events, nextFrom }: Awaited<ReturnType<LogReader["read"]>> = await reader.read({
      from,
      limit: IMPORT_BATCH_EVENTS_MAX,
    });
    if (events.length > 0) yield events;
    from = nextFrom;
  }
}

function encodeLines(rows: readonly string[]): Uint8Array {
  return new TextEncoder().encode(rows.map((row) => row + "\n").join(""));
}
