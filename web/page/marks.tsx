/**
 * The sign that tells durable from pending: by shape and by word, not by colour alone.
 *
 * @module
 */

/** A seq with its mark: a filled square is on the medium, a hollow one is not yet. */
export function Seq({ seq, durableSeq }: { readonly seq: number; readonly durableSeq: number }) {
  const isDurable = seq <= durableSeq;
  return (
    <span class={isDurable ? "seq durable" : "seq pending"} title={isDurable ? "durable" : "pending: not durable yet"}>
      <span class="mark" />
      <span class="number">{seq}</span>
      <span class="unseen">{isDurable ? " durable" : " pending"}</span>
    </span>
  );
}

/** The moment in full; a log from elsewhere may name one that no calendar has. */
export function isoTime(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? `${time} ms` : date.toISOString();
}

/** The moment as the clock here shows it: `2026-05-04 09:30:00`. */
export function dateTime(time: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return isoTime(time);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join("-");
  return `${day} ${clockTime(time)}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

/** Time of day, `09:30:00`; the date is in the details. */
export function clockTime(time: number): string {
  if (Number.isNaN(new Date(time).getTime())) return isoTime(time);
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

/** A size for people. */
export function sizeText(sizeBytes: number): string {
  if (sizeBytes < 1024) return `${sizeBytes} B`;
  return sizeBytes < 1024 ** 2 ? `${(sizeBytes / 1024).toFixed(1)} KiB` : `${(sizeBytes / 1024 ** 2).toFixed(1)} MiB`;
}
