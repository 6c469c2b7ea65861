/**
 * `acknowledged-kept`, `nothing-invented` and `bytes-equal`: acknowledged ⊆ recovered ⊆ appended, and no byte changes under it.
 *
 * @module
 */
import { type Case, isSameEvent } from "./case.ts";
import { bytesEqual, type LogReading } from "./log.ts";
import { isRecord, show } from "./rows.ts";
import type { Files } from "./trace.ts";

/** Every acknowledged event can be read, after the crash and after the recovery. */
export function checkAcknowledged(found: Case): void {
  const { trace, image, recovered, find } = found;
  for (const { incarnation, seqFrom, acknowledgedThroughSeq = -1 } of trace.appended) {
    if (seqFrom > acknowledgedThroughSeq) continue;
    const again = `process ${incarnation} handed over seq ${seqFrom} once more`;
    find("acknowledged-kept", `${again}, and everything through seq ${acknowledgedThroughSeq} was acknowledged`);
  }
  if (lacksAcknowledged(found, image, "after the crash")) return;
  if (recovered !== null) lacksAcknowledged(found, recovered, "after the recovery");
  const { salvaged } = trace;
  if (salvaged === undefined) return;
  const isZstd = salvaged.files.get(salvaged.log)?.[0] === 0x28;
  const reading = found.reader.read(salvaged.files, salvaged.log, isZstd ? "zstd" : "none");
  lacksAcknowledged(found, reading, "in the salvaged copy");
}

function lacksAcknowledged(found: Case, reading: LogReading, where: string): boolean {
  const { acknowledgedThroughSeq: through, history, find } = found;
  for (let seq = 0; seq <= through; seq++) {
    const row = reading.rows[seq];
    if (row !== undefined && isSameEvent(row, history[seq])) continue;
    const what = typeOf(history[seq]);
    find(
      "acknowledged-kept",
      row === undefined
        ? `seq ${seq} (${what}) was acknowledged, as all up to seq ${through}, and ${where} the log ${
          contentsOf(reading)
        }`
        : `seq ${seq} (${what}) was acknowledged, and ${where} it is ${show(row.value)}`,
    );
    return true;
  }
  return false;
}

function contentsOf({ state, rows, damage }: LogReading): string {
  if (state === "absent") return "is not there";
  return `holds ${rows.length} events${damage === null ? "" : ` before its damage: ${damage}`}`;
}

function typeOf(event: unknown): string {
  return isRecord(event) && typeof event.type === "string" ? event.type : "no event";
}

/** Every event that a crash left had been handed over, in this place. What a repair adds is judged with the repair. */
export function checkInvented({ image, recovered, history, find }: Case): void {
  for (const [seq, row] of image.rows.entries()) {
    if (seq < history.length && isSameEvent(row, history[seq])) continue;
    find(
      "nothing-invented",
      `seq ${seq} is ${show(row.value)} after the crash, and ` +
        (seq < history.length ? `appended was ${show(history[seq])}` : `only ${history.length} events were appended`),
    );
    return;
  }
  if (image.state === "absent" && recovered !== null && recovered.rows.length > 0) {
    find(
      "nothing-invented",
      `there was no log after the crash, and the recovery made one of ${recovered.rows.length} events`,
    );
  }
}

/** A recovery only appends, or cuts a torn end of which it keeps a copy; a refusal changes nothing. */
export function checkBytes(found: Case): void {
  const { trace, image, recovered, find } = found;
  if (trace.recovered === undefined) return;
  checkOtherFiles(found, trace.recovered);
  if (recovered === null || image.state === "damaged") {
    const now = trace.recovered.get(trace.log);
    if (image.state !== "absent" && (now === undefined || !bytesEqual(image.bytes, now))) {
      const why = recovered === null ? "its opening was refused" : `it is damaged (${image.damage})`;
      find(
        "bytes-equal",
        `the log had ${image.bytes.length} bytes, ${why}, and now it has ${now?.length ?? "none"}: it was changed`,
      );
    }
    return;
  }
  if (image.state === "absent") return;
  const changed = firstChange(image.bytes.subarray(0, image.wholeBytes), recovered.bytes);
  if (changed !== null) {
    find(
      "bytes-equal",
      `the recovery changed the byte at ${changed}, and everything up to ${image.wholeBytes} was whole`,
    );
    return;
  }
  if (recovered.state === "damaged") {
    find("bytes-equal", `the recovery left a log that the format refuses: ${recovered.damage}`);
    return;
  }
  for (const [seq, row] of found.keepsImage ? [] : image.rows.entries()) {
    const now = recovered.rows[seq];
    if (now === row || (now !== undefined && isSameEvent(now, row.value))) continue;
    const then = `seq ${seq} (${row.type}) could be read after the crash${
      seq >= image.wholeRows ? ", in the torn end" : ""
    }`;
    find(
      "bytes-equal",
      `${then}, and after the recovery ${now === undefined ? "it is gone" : `it is ${show(now.value)}`}`,
    );
    return;
  }
  if (recovered.tornBytes > 0) {
    find("bytes-equal", `the recovery left ${recovered.tornBytes} torn bytes at ${recovered.wholeBytes}`);
  }
  checkCopy(found, trace.recovered, recovered);
}

function firstChange(before: Uint8Array, now: Uint8Array): number | null {
  if (before === now) return null;
  for (let index = 0; index < before.length; index++) if (before[index] !== now[index]) return index;
  return null;
}

/** No byte of evidence goes without a copy: a torn end that was cut lies beside the log. */
function checkCopy({ trace, reader, image, find }: Case, files: Files, recovered: LogReading): void {
  if (image.tornBytes === 0 || firstChange(image.bytes, recovered.bytes) === null) return;
  const tail = image.bytes.subarray(image.wholeBytes);
  const prefix = `${trace.log}.torn-${image.wholeBytes}-`;
  for (const [name, content] of files) {
    if (!name.startsWith(prefix)) continue;
    const copy = reader.copyOfTail(content);
    if (copy !== null && bytesEqual(copy, tail)) return;
  }
  find(
    "bytes-equal",
    `the torn end of ${tail.length} bytes at ${image.wholeBytes} was cut, and no ${prefix}… holds a copy of it`,
  );
}

const GENERATION = /\/session(?:\.v[1-9][0-9]*)?\.jsonl(?:\.zstd)?$/;

/** Other generations of the log and other sessions stay as they are. */
function checkOtherFiles({ trace, find }: Case, now: Files): void {
  const folder = trace.log.slice(0, trace.log.lastIndexOf("/") + 1);
  for (const [name, bytes] of trace.image) {
    if (name === trace.log || (name.startsWith(folder) && !GENERATION.test(name))) continue;
    if (name.endsWith(".lock") || name.endsWith(".tmp")) continue;
    const left = now.get(name);
    if (left === undefined) find("bytes-equal", `the recovery removed "${name}"`);
    else if (!bytesEqual(bytes, left)) find("bytes-equal", `the recovery changed "${name}"`);
  }
}
