/**
 * How full the model's window is.
 *
 * @module
 */
import type { ContextGauge } from "../../mod.ts";

/** From this share on it is worth a look: automatic compaction begins about there. */
const FULL_SHARE = 0.8;

/** Draws the gauge; nothing while nothing was said. */
export function ContextGaugeLine({ gauge }: { readonly gauge: ContextGauge }) {
  const { tokens, windowTokens, share } = gauge;
  if (tokens === 0) return null;
  const words = gaugeWords(gauge);
  return (
    <p
      class={share !== null && share >= FULL_SHARE ? "context full" : "context"}
      title="What the model reads with its next request: counted by its provider, and estimated since. Compacting makes it less"
    >
      {windowTokens !== null && (
        <meter
          min={0}
          max={windowTokens}
          high={windowTokens * FULL_SHARE}
          value={Math.min(tokens, windowTokens)}
          aria-label="Context"
        >
          {words}
        </meter>
      )}
      <span>{words}</span>
    </p>
  );
}

/** The gauge in words. */
export function gaugeWords({ tokens, windowTokens, share }: ContextGauge): string {
  const used = thousands(tokens);
  if (windowTokens === null || share === null) return `${used} tokens`;
  return `${used} of ${thousands(windowTokens)} tokens, ${Math.round(share * 100)} %`;
}

function thousands(count: number): string {
  return count < 10_000 ? String(count) : `${(count / 1000).toFixed(count < 100_000 ? 1 : 0)}k`;
}
