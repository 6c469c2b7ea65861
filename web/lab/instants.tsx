/**
 * The instants at which a crash can come, as a list to choose from.
 *
 * @module
 */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Moment, PaymentRun } from "./payment_run.ts";
import { FINDINGS, type Survey } from "./survey.ts";
import { FINDING_WORDS } from "./words.ts";

/** Draws the list: arrow keys move in it, as in any group of choices. */
export function Instants({ run, survey, chosen, onChoose }: {
  readonly run: PaymentRun;
  /** What the states came to, as far as they were looked at. */
  readonly survey: Survey | null;
  readonly chosen: number;
  readonly onChoose: (moment: number) => void;
}) {
  const box = useRef<HTMLFieldSetElement>(null);
  // Chosen from elsewhere, it is brought into the box, and the page stays where it is.
  useLayoutEffect(() => {
    const list = box.current!;
    const line = list.querySelector<HTMLElement>(".chosen")!;
    if (line.offsetTop < list.scrollTop) list.scrollTop = line.offsetTop;
    const hiddenPx = line.offsetTop + line.offsetHeight - list.scrollTop - list.clientHeight;
    if (hiddenPx > 0) list.scrollTop += hiddenPx;
  }, [chosen]);
  return (
    <fieldset class="instants" ref={box}>
      <legend class="unseen">The instant of the crash</legend>
      {run.moments.map((moment, number) => (
        <label key={number} class={number === chosen ? "instant chosen" : "instant"}>
          <input type="radio" name="instant" checked={number === chosen} onInput={() => onChoose(number)} />
          <span class={moment.bank === "not asked" ? "done" : `done ${moment.bank === "paid" ? "is-paid" : "is-away"}`}>
            {moment.done}
          </span>
          <Findings moment={moment} counts={survey?.moments[number] ?? {}} />
        </label>
      ))}
    </fieldset>
  );
}

function Findings({ moment, counts }: {
  readonly moment: Moment;
  readonly counts: Survey["moments"][number];
}) {
  const found = FINDINGS.filter((finding) => counts[finding] !== undefined);
  return (
    <span class="findings">
      <span class="states">{moment.stateCount} {moment.stateCount === 1 ? "state" : "states"}</span>
      {found.map((finding) => (
        <span key={finding} class={`finding finding-${finding}`}>
          <span aria-hidden="true">{FINDING_WORDS[finding].sign}</span> {counts[finding]} {FINDING_WORDS[finding].name}
        </span>
      ))}
    </span>
  );
}
