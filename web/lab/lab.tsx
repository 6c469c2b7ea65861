/**
 * The page: every instant of a payment at which a crash can come, every state that it can leave, and what the next start can prove.
 *
 * @module
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { Instants } from "./instants.tsx";
import { KeptBytes } from "./kept_bytes.tsx";
import { type Look, lookAt } from "./next_start.ts";
import { type Moment, type PaymentRun, runPayment } from "./payment_run.ts";
import { Start } from "./start.tsx";
import { type Survey, surveyOf } from "./survey.ts";
import { Verdict } from "./verdict.tsx";
import { BANK_WORDS, FINDING_WORDS, sentence } from "./words.ts";

/** The log's name, as a state is described with it. */
const LOG_PATH = /"[^"]*session\.v\d+\.jsonl"/g;

/** Where a visitor stands. */
interface Place {
  readonly moment: number;
  readonly state: number;
}

/** Draws everything. */
export function Lab() {
  const [run, setRun] = useState<PaymentRun | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    runPayment("posix").then(setRun, (error) => setProblem(String(error)));
  }, []);
  return (
    <div class="lab">
      <Start />
      {problem !== null && <p class="card problem" role="alert">The run could not be made: {problem}</p>}
      {run === null
        ? problem === null && <p class="lab-wait" role="status">The run is being made…</p>
        : <Bench run={run} onProblem={setProblem} />}
    </div>
  );
}

function Bench({ run, onProblem }: { readonly run: PaymentRun; readonly onProblem: (problem: string) => void }) {
  const [place, setPlace] = useState<Place>({ moment: 0, state: 0 });
  const [asksBank, setAsksBank] = useState(true);
  const [survey, setSurvey] = useState<Survey | null>(null);
  const [look, setLook] = useState<{ readonly place: Place; readonly look: Look } | null>(null);
  const moment = run.moments[place.moment]!;

  useEffect(() => {
    const leaving = new AbortController();
    setSurvey(null);
    surveyOf(run, { asksBank }, setSurvey, leaving.signal).catch((error) => onProblem(String(error)));
    return () => leaving.abort();
  }, [run, asksBank]);
  useEffect(() => {
    let isOver = false;
    lookAt(run, moment, moment.stateAt(place.state), { asksBank }).then(
      (look) => isOver || setLook({ place, look }),
      (error) => onProblem(String(error)),
    );
    return () => void (isOver = true);
  }, [run, place, asksBank]);

  const steps = useMemo(() => placesOf(run), [run]);
  const at = steps.findIndex(({ moment, state }) => moment === place.moment && state === place.state);
  const go = (step: number) => setPlace(steps[Math.min(steps.length - 1, Math.max(0, at + step))]!);
  return (
    <main class="lab-bench">
      <section class="lab-when" aria-labelledby="when">
        <h2 id="when">1 · When does it crash?</h2>
        <p class="explain">
          Each line is what has just been done. What was written and not yet synced may arrive wholly, in part, or not
          at all.
        </p>
        <Instants
          run={run}
          survey={survey}
          chosen={place.moment}
          onChoose={(moment) => setPlace({ moment, state: 0 })}
        />
        <Progress survey={survey} />
      </section>

      <section class="lab-what" aria-labelledby="what">
        <h2 id="what">2 · What is left?</h2>
        <div class="lab-step">
          <button type="button" disabled={at <= 0} onClick={() => go(-1)}>← One state back</button>
          <button type="button" disabled={at >= steps.length - 1} onClick={() => go(1)}>Next state →</button>
        </div>
        <label class="lab-state">
          <span>
            State {place.state + 1} of {moment.stateCount} that this crash can leave
          </span>
          <input
            type="range"
            min={0}
            max={moment.stateCount - 1}
            value={place.state}
            disabled={moment.stateCount === 1}
            onInput={(event) => setPlace({ moment: place.moment, state: Number(event.currentTarget.value) })}
          />
        </label>
        <label class="lab-ask">
          <input
            type="checkbox"
            checked={asksBank}
            onInput={(event) => setAsksBank(event.currentTarget.checked)}
          />{" "}
          The next start may ask the bank
        </label>
        {look !== null && (
          <>
            <InShort moment={run.moments[look.place.moment]!} look={look.look} />
            <p class="explain lab-arrived">{sentence(look.look.arrived.replaceAll(LOG_PATH, "the log"))}</p>
            <h3>Bytes kept</h3>
            <KeptBytes
              log={look.look.log}
              written={run.log.subarray(0, run.moments[look.place.moment]!.writtenBytes)}
              acknowledgedBytes={run.moments[look.place.moment]!.acknowledgedBytes}
              turnStartBytes={run.turnStartBytes}
            />
          </>
        )}
      </section>

      <section class="lab-then" aria-labelledby="then">
        <h2 id="then">3 · What can be proved?</h2>
        {look !== null && <Verdict moment={run.moments[look.place.moment]!} look={look.look} asksBank={asksBank} />}
      </section>
    </main>
  );
}

/** Said beside the slider, where on a phone the rest is out of sight. */
function InShort({ moment, look: { next } }: { readonly moment: Moment; readonly look: Look }) {
  const finding = next.kind === "refused" ? "refused" : next.given;
  const settled = next.kind === "open" && next.verdict !== null ? `, settled: ${next.verdict}` : "";
  return (
    <p class="lab-short" role="status">
      <strong class={`finding-${finding}`}>{FINDING_WORDS[finding].sign} {FINDING_WORDS[finding].name}</strong>
      {settled}; {BANK_WORDS[moment.bank]}.
    </p>
  );
}

function Progress({ survey }: { readonly survey: Survey | null }) {
  if (survey === null) return <p class="lab-progress">The states are being looked at…</p>;
  const { looked, all, lies, unknown, settled } = survey;
  const isOver = looked === all;
  return (
    <div class="lab-progress">
      <progress max={all} value={looked} aria-label="States looked at" />
      <p role="status">
        {isOver ? `All ${all} crash states looked at: ` : `${looked} of ${all} crash states looked at: `}
        <strong>{lies.length === 0 ? "nothing false was said" : `${lies.length} false statements`}</strong>
        {isOver && `. ${unknown} were unknown, and asking the bank settled ${settled} of them`}.
      </p>
    </div>
  );
}

/** Every state of every moment, in their order. */
function placesOf(run: PaymentRun): Place[] {
  return run.moments.flatMap(({ stateCount }, moment) =>
    Array.from({ length: stateCount }, (_, state) => ({ moment, state }))
  );
}
