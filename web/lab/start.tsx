/**
 * What a visitor of the lab reads first.
 *
 * @module
 */

/** Draws the introduction. */
export function Start() {
  return (
    <header class="lab-start">
      <p class="eyebrow">
        <a href="index.html">Holdfast</a> · crash lab
      </p>
      <h1>Crash a payment at any instant</h1>
      <p class="promise">
        An agent pays 10 to alice. Its engine, its log and its disk run in this page, the disk a simulated one: it knows
        every state that a crash can leave. Choose one, and see what the next start can prove, beside what the bank
        really did.
      </p>
      <p class="explain">
        The same engine runs over the same media by the million with{" "}
        <code>holdfast lab</code>, and on your own tools with{" "}
        <code>crashLab()</code>. Here the log is stored plainly, so that you can read it.
      </p>
    </header>
  );
}
