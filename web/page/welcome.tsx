/**
 * What a visitor reads first.
 *
 * @module
 */

/** Draws the introduction. */
export function Welcome() {
  return (
    <div class="conversation welcome" tabIndex={0} role="region" aria-label="Introduction">
      <h2>Ask it to pay, then crash it.</h2>
      <p class="promise">
        This agent writes down what it is about to do <em>before</em>{" "}
        it does it. Kill it at any instant: the next start says what is true about every call, and repeats nothing by
        itself.
      </p>
      <ol class="steps">
        <li>
          <strong>Send the payment below.</strong> A demo model without a key answers, and asks you before money moves.
        </li>
        <li>
          <strong>Crash it from the question:</strong>{" "}
          unanswered, or approved and killed just before the payment runs, or just after it ran. The menu at the top
          crashes it at any other time.
        </li>
        <li>
          <strong>Read the verdict,</strong> beside the book of the pretend bank, which knows what really happened.
        </li>
      </ol>
      <table class="book">
        <caption>What the log can prove after a crash, by how far its evidence reaches</caption>
        <thead>
          <tr>
            <th scope="col">found in the log</th>
            <th scope="col">class</th>
            <th scope="col">which means</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>
              <Evidence steps={1} /> the model asked for it
            </td>
            <td>
              <code>not_started</code>
            </td>
            <td>nothing ran</td>
          </tr>
          <tr>
            <td>
              <Evidence steps={2} /> it was taken up
            </td>
            <td>
              <code>not_dispatched</code>
            </td>
            <td>it waited for you; nothing ran</td>
          </tr>
          <tr>
            <td>
              <Evidence steps={3} /> “it starts now”
            </td>
            <td>
              <code>outcome_unknown</code>
            </td>
            <td>it may have run: look, then say so</td>
          </tr>
          <tr>
            <td>
              <Evidence steps={4} /> a result
            </td>
            <td>done</td>
            <td>it ran, and this came back</td>
          </tr>
        </tbody>
      </table>
      <p class="explain">
        <a href="lab.html">The crash lab</a>{" "}
        steps through every state that a crash can leave of a payment, byte by byte.{" "}
        <a href="bench.html">The benchmark</a> measures how long this browser takes to make a log durable.
      </p>
      <p class="explain">
        The log is a file in this browser’s private storage, synced by a worker. Nothing leaves this page unless you
        choose another model.
      </p>
    </div>
  );
}

/** How far the evidence reaches, of four steps. The words beside it say the same. */
function Evidence({ steps }: { readonly steps: number }) {
  return (
    <span class="evidence" aria-hidden="true">
      {[1, 2, 3, 4].map((step) => (
        <span key={step} class={step <= steps ? "durable" : "none"}>
          <span class="mark" />
        </span>
      ))}
    </span>
  );
}
