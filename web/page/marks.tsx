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

/** Time of day; the date is in the details. */
export function clockTime(time: number): string {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** A size for people. */
export function sizeText(sizeBytes: number): string {
  if (sizeBytes < 1024) return `${sizeBytes} B`;
  return sizeBytes < 1024 ** 2 ? `${(sizeBytes / 1024).toFixed(1)} KiB` : `${(sizeBytes / 1024 ** 2).toFixed(1)} MiB`;
}
