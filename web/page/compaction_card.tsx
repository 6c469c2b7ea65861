/**
 * A compaction in the conversation. What it stands for is above it, as it was said.
 *
 * @module
 */
import type { CompactionItem } from "./compaction_item.ts";
import { LongText } from "./long_text.tsx";

/** Draws one compaction. */
export function CompactionCard({ item, onSeq, onStop }: {
  readonly item: CompactionItem;
  readonly onSeq: (seq: number) => void;
  readonly onStop: () => void;
}) {
  const { state, shadowed, tokensAfter, summary, error, isAutomatic } = item;
  return (
    <div class={`compaction compaction-${state}`} data-state={state}>
      <p class="compacted">
        {state === "running" && <span class="pulse" aria-hidden="true" />} {wordsOf(item)}
        <span class="aside">{isAutomatic ? "by itself" : "asked for"}</span>
        {state === "running" && !isAutomatic && <button type="button" class="quiet" onClick={onStop}>Stop</button>}
      </p>
      {error !== null && <LongText class="ended" text={error} />}
      {state === "done" && shadowed !== null && (
        <>
          <p class="explain">
            {shadowed.seqs.length} messages of about <strong>{shadowed.tokens}</strong> tokens became about{" "}
            <strong>{tokensAfter ?? "?"}</strong>. They are still in the log:{" "}
            <button type="button" class="link" onClick={() => onSeq(shadowed.seqs[0]!)}>#{shadowed.seqs[0]}</button> to
            {" "}
            <button type="button" class="link" onClick={() => onSeq(shadowed.seqs.at(-1)!)}>
              #{shadowed.seqs.at(-1)}
            </button>.
          </p>
          <details class="reasoning">
            <summary>The summary that the model reads instead</summary>
            <LongText class="said" text={summary} />
          </details>
        </>
      )}
    </div>
  );
}

function wordsOf({ state }: CompactionItem): string {
  switch (state) {
    case "running":
      return "Compacting: a summary of the earlier conversation is being written";
    case "done":
      return "The earlier conversation was compacted: the model reads a summary of it";
    case "failed":
      return "A compaction came to nothing; the model reads what it read before";
    case "cut":
      return "A compaction was cut off; what it had not finished does not count";
  }
}
