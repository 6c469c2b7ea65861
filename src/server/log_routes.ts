/**
 * Logs as files: export and import.
 *
 * @module
 */
import { Hono } from "hono";
import {
  AlreadyExistsError,
  encodeHeader,
  encodeRow,
  type ErrorCode,
  hasCode,
  logFold,
  type LogReader,
  type SessionHeader,
  type SessionStore,
} from "../../mod.ts";
import { readBody } from "./body.ts";
import { IMPORT_BATCH_EVENTS_MAX, IMPORT_CONTENT_LENGTH_MAX, IMPORT_SIZE_BYTES_MAX } from "./limits.ts";
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
      let reader: LogReader;
      try {
        reader = await store.open(id, "read");
      } catch (error) {
        giveBack();
        throw error;
      }
      // Of a damaged log comes what lies before the damage, and the header says so.
      const { fault } = reader.state();
      const ending = to === "zstd" ? "jsonl.zstd" : "jsonl";
      return c.body(exportOf(reader, encode, giveBack), 200, {
        "content-type": to === "zstd" ? "application/zstd" : "application/x-ndjson",
        "content-disposition": `attachment; filename="${id}.${ending}"`,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        ...(fault === null ? {} : { "holdfast-damage": fault.code }),
      });
    })
    .post("/sessions/import", query(IMPORT_QUERY), async (c) => {
      const { store, parts } = tenantOf(c);
      if (c.get("isDraining")()) throw new Refusal(503, "DRAINING", "Cannot import: the server is going down");
      if (!/^application\/(?:octet-stream|zstd|x-ndjson)$/i.test(c.req.header("content-type") ?? "")) {
        throw new Refusal(
          415,
          "UNSUPPORTED_MEDIA_TYPE",
          "Cannot import: wanted content-type application/zstd, application/x-ndjson or application/octet-stream",
        );
      }
      const bytes = await readBody(c.req.raw, IMPORT_SIZE_BYTES_MAX, c.get("clock"));
      const imported = await parts.withLog(bytes, async (reader) => {
        const { fault } = reader.state();
        if (fault !== null) throw notALog(fault.code);
        const id = await checkId(c.req.valid("query").id ?? reader.header.id);
        return { id, events: await importLog(store, reader, { ...reader.header, id }, parts.importLengthMax) };
      }).catch((error) => {
        throw hasAnyCode(error, UNREADABLE) ? notALog(error.code) : error;
      });
      return c.json(imported, 201, { location: `/v1/sessions/${imported.id}` });
    });
}

/** What an import is refused with when the bytes are no log of this version. */
const UNREADABLE = ["CORRUPT_FRAME", "CORRUPT_LOG", "UNSUPPORTED_FORMAT", "UNKNOWN_EVENT", "SEQUENCE_GAP"] as const;

function notALog(code: string): Refusal {
  return new Refusal(422, "INVALID_REQUEST", "Cannot import: the bytes are no whole log of this version", {
    fault: code,
  });
}

function hasAnyCode(error: unknown, codes: readonly ErrorCode[]): error is { readonly code: string } {
  return codes.some((code) => hasCode(error, code));
}

/** Copies a log under its header. All of it, or nothing. @returns how many events it has */
async function importLog(
  store: SessionStore,
  reader: LogReader,
  header: SessionHeader,
  lengthMax = IMPORT_CONTENT_LENGTH_MAX,
): Promise<number> {
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
    for await (const events of pages(reader)) await writer.append(events);
    await writer.close();
  } catch (error) {
    await writer.close().catch(() => {});
    if (isPublished) await store.delete(header.id).catch(() => {});
    throw error;
  }
  return folds.nextSeq;
}

function exportOf(
  reader: LogReader,
  encode: (rows: readonly string[]) => Uint8Array,
  giveBack: () => void,
): ReadableStream<Uint8Array> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield encode([encodeHeader(reader.header)]);
      for await (const events of pages(reader)) {
        let rows: string[] = [];
        let length = 0;
        for (const row of events.map(encodeRow)) {
          if (rows.length > 0 && length + row.length > FRAME_LENGTH_MAX) {
            yield encode(rows);
            [rows, length] = [[], 0];
          }
          rows.push(row);
          length += row.length;
        }
        if (rows.length > 0) yield encode(rows);
      }
    } finally {
      giveBack();
      await reader.close();
    }
  }
  const source = chunks();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await source.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await source.return(undefined);
      giveBack();
      await reader.close();
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
