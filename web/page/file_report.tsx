/**
 * What a dropped file is and suffers from, in plain words, and what can be made of it. Whatever the file says is text.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { FileCopy, FileFinding, FileImport, FileReport } from "../inspect_protocol.ts";
import { ExactText } from "./exact_text.tsx";

/** How many findings are drawn; the others are counted. */
const FINDINGS_SHOWN_MAX = 30;

/** How many characters of a text out of the file are drawn. */
const TEXT_LENGTH_MAX = 300;

/** Draws the dialog. `onTake` is called with what a person chose, and for which branches. */
export function FileReportDialog({ report, isBusy, onTake, onClose }: {
  readonly report: FileReport;
  readonly isBusy: boolean;
  readonly onTake: (how: "import" | "salvage", keep: readonly string[]) => void;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [kept, setKept] = useState<readonly string[]>(() => report.salvage?.map(({ branch }) => branch) ?? []);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    dialog.current!.showModal();
    heading.current!.focus(); // Not a button: a key that is still held down must not choose.
  }, []);
  const { take, salvage } = report;
  const damages = report.findings.length + report.omitted;
  const isSalvageBest = salvage !== null && take.how === "up to the damage";
  const importButton = take.how !== "refused" && (
    <button
      key="import"
      type="button"
      class={isSalvageBest ? "" : "approve"}
      disabled={isBusy}
      onClick={() => onTake("import", [])}
    >
      {IMPORT_WORDS[take.how]}
    </button>
  );
  const salvageButton = salvage !== null && (
    <button
      key="salvage"
      type="button"
      class={isSalvageBest ? "approve" : ""}
      disabled={isBusy || kept.length === 0}
      onClick={() => onTake("salvage", kept)}
    >
      {kept.length > 1 ? "Salvage into new sessions" : "Salvage into a new session"}
    </button>
  );
  return (
    <dialog
      class="file-report"
      ref={dialog}
      aria-labelledby="file-title"
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 id="file-title" ref={heading} tabIndex={-1}>
        <Said text={report.name} />
      </h2>
      <p>{kindWords(report)}</p>
      <dl class="facts-of-file">
        {factsOf(report).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Said text={value} />
            </dd>
          </div>
        ))}
      </dl>
      {damages > 0 && <Findings findings={report.findings} count={damages} />}
      {take.how === "converted" && <Losses take={take} />}
      {salvage !== null && (
        <section>
          <h3>What a salvage would keep</h3>
          {salvage.length > 1 && (
            <p class="explain">Two programs wrote this log at once. Each branch becomes a session of its own.</p>
          )}
          {salvage.map((copy) => (
            <Copy
              key={copy.branch}
              copy={copy}
              isOne={salvage.length === 1}
              isKept={kept.includes(copy.branch)}
              onKeep={(isKept) =>
                setKept(isKept ? [...kept, copy.branch] : kept.filter((name) => name !== copy.branch))}
            />
          ))}
        </section>
      )}
      {take.how === "refused" && (
        <p class="facts">
          It cannot be imported: <Said text={take.reason} />
        </p>
      )}
      <div class="choices">
        {isSalvageBest ? [salvageButton, importButton] : [importButton, salvageButton]}
        <button type="button" class="quiet" onClick={() => dialog.current!.close()}>Close</button>
      </div>
      <p class="explain">The file itself is never changed.</p>
      <p class="unseen" role="status">{isBusy ? "Working" : ""}</p>
    </dialog>
  );
}

/** A file that is being looked at. */
export function LookingDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog class="file-report" ref={dialog} aria-labelledby="looking-title" aria-busy="true" onClose={onClose}>
      <h2 id="looking-title">
        Looking at <Said text={name} />
      </h2>
      <div class="choices">
        <button type="button" class="quiet" onClick={() => dialog.current!.close()}>Cancel</button>
      </div>
    </dialog>
  );
}

const IMPORT_WORDS: Readonly<Record<Exclude<FileImport["how"], "refused">, string>> = {
  "as it is": "Import",
  "up to the damage": "Import, to read up to the damage",
  migrated: "Import as the current version",
  converted: "Import as a new session",
};

function Findings({ findings, count }: { readonly findings: readonly FileFinding[]; readonly count: number }) {
  const shown = findings.slice(0, FINDINGS_SHOWN_MAX);
  return (
    <section>
      <h3>{count === 1 ? "One thing is wrong with it" : `${count} things are wrong with it`}</h3>
      <ul class="findings" tabIndex={0} aria-label="What is wrong">
        {shown.map((finding, index) => (
          <li key={index} class={`finding ${finding.severity}`}>
            <p>
              <strong>{capital(finding.meaning)}</strong>
            </p>
            <p class="explain">
              <Said text={finding.message} />
            </p>
            <p class="facts">{placeWords(finding)}</p>
          </li>
        ))}
      </ul>
      {count > shown.length && <p class="explain">and {count - shown.length} more</p>}
    </section>
  );
}

function Losses({ take: { report } }: { readonly take: Extract<FileImport, { readonly how: "converted" }> }) {
  const { losses, inferred } = report;
  return (
    <section>
      <h3>{losses.length === 0 ? "Nothing would be left out" : "What would be left out"}</h3>
      <ul class="findings" tabIndex={0} aria-label="What would be left out">
        {losses.map(({ kind, count, firstLine }) => (
          <li key={kind} class="finding oddity">
            <p>
              <Said text={kind} />
            </p>
            <p class="facts">
              {count === 1 ? `once, on line ${firstLine}` : `${count} times, first on line ${firstLine}`}
            </p>
          </li>
        ))}
      </ul>
      <Concluded inferred={inferred} />
    </section>
  );
}

function Copy({ copy: { branch, events, pieces, pieceBytes, inferred }, isOne, isKept, onKeep }: {
  readonly copy: FileCopy;
  readonly isOne: boolean;
  readonly isKept: boolean;
  readonly onKeep: (isKept: boolean) => void;
}) {
  const left = pieces === 0
    ? "nothing left out"
    : pieces === 1
    ? `a piece of ${counted(pieceBytes, "byte")} left out`
    : `${pieces} pieces left out, together ${counted(pieceBytes, "byte")}`;
  const words = `${counted(events, "event")} kept, ${left}`;
  return (
    <>
      {isOne ? <p>{words}</p> : (
        <label class="choice">
          <input type="checkbox" checked={isKept} onChange={() => onKeep(!isKept)} />
          <span>
            <strong>Branch {branch}</strong> {words}
          </span>
        </label>
      )}
      <Concluded inferred={inferred} />
    </>
  );
}

function Concluded({ inferred }: { readonly inferred: readonly string[] }) {
  if (inferred.length === 0) return null;
  return (
    <details>
      <summary>
        {inferred.length === 1 ? "One thing was concluded" : `${inferred.length} things were concluded`}
      </summary>
      <ul>
        {inferred.slice(0, FINDINGS_SHOWN_MAX).map((text) => (
          <li key={text}>
            <Said text={text} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** A text that comes from the file: whole characters, and not more of them than a person can look at. */
function Said({ text }: { readonly text: string }) {
  return <ExactText text={text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text} />;
}

function kindWords({ kind, version, take, findings }: FileReport): string {
  if (kind === "foreign") {
    return `A session log of ${take.how === "converted" ? take.report.program : "another program"}.`;
  }
  if (kind === "archive") return "An archive of a session log.";
  if (kind === "unknown") return "Nothing of a session log was found in it.";
  const damaged = findings.some(({ severity }) => severity === "damage") ? "damaged " : "";
  return version === null ? `A ${damaged}session log.` : `A ${damaged}session log of version ${version}.`;
}

function factsOf({ sizeBytes, encoding, sessionId, events, take }: FileReport): [string, string][] {
  const id = take.how === "converted" ? take.report.foreignId : sessionId;
  return [
    ...(id === null ? [] : [["Session", id] satisfies [string, string]]),
    ...(events === null ? [] : [
      [take.how === "up to the damage" ? "Up to the damage" : "Holds", counted(events, "event")] satisfies [
        string,
        string,
      ],
    ]),
    ...(encoding === null
      ? []
      : [["Written as", encoding === "zstd" ? "zstd frames" : "plain lines"] satisfies [string, string]]),
    ["Size", counted(sizeBytes, "byte")],
  ];
}

function placeWords({ offsetBytes, sizeBytes, seq, kind }: FileFinding): string {
  const parts = [
    ...(offsetBytes === null ? [] : [`at byte ${offsetBytes}`]),
    ...(sizeBytes === 0 ? [] : [counted(sizeBytes, "byte")]),
    ...(seq === null ? [] : [`event ${seq}`]),
    kind,
  ];
  return parts.join(" · ");
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
