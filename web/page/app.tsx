/**
 * The page: sessions on the left, the conversation in the middle, the log on the right, the durability line below.
 *
 * @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApprovalDialog } from "./approval_dialog.tsx";
import { Composer } from "./composer.tsx";
import { ContextGaugeLine } from "./context_gauge.tsx";
import { Conversation } from "./conversation.tsx";
import { useDroppedFiles } from "./dropped_files.tsx";
import { Fenced } from "./fenced.tsx";
import type { LookAt } from "./inspector.ts";
import { ToolName } from "./long_text.tsx";
import { ModelChooser } from "./model_chooser.tsx";
import { focusFirst, useKeptFocus } from "./kept_focus.ts";
import type { EventLog } from "./event_log.ts";
import { isEvent } from "./is_event.ts";
import { verdictsIn } from "./outcome_words.ts";
import type { PageState } from "./page_state.ts";
import type { PageStore } from "./page_store.ts";
import { ProblemCard } from "./problem_card.tsx";
import { problemsOf } from "./problems.ts";
import { RepairNotice } from "./repair_notice.tsx";
import { LostScreen, StartingScreen, UnusableScreen } from "./screens.tsx";
import { SessionList } from "./session_list.tsx";
import { type Shortcut, ShortcutHelp, useShortcuts } from "./shortcuts.tsx";
import { SidePanel, type SideTab } from "./side_panel.tsx";
import { DurabilityLine, RoleLine } from "./status_lines.tsx";
import { TopBar } from "./top_bar.tsx";
import { download } from "./transfer.ts";
import { Unknowns } from "./unknowns.tsx";
import { useAnswer, usePageState } from "./use_store.ts";
import { Welcome } from "./welcome.tsx";

/** How far back it is looked whether a person went on, in events. A turn with more of them has gone on in any case. */
const GONE_ON_LOOK_MAX = 64;

/** What a phone shows, one at a time. */
type Pane = "sessions" | "talk" | "side";

const PANE_NAMES: Readonly<Record<Pane, string>> = { sessions: "Sessions", talk: "Conversation", side: "Log, bank" };

/** Sentences that the demo model understands. */
export const SUGGESTIONS: readonly string[] = ["pay 10 to alice", "write hello to notes.txt", "list the files"];

/** Whether a person has said something since a call, or so much has happened that its place is far above. */
function hasGoneOn(log: EventLog, callSeq: number): boolean {
  if (log.nextSeq - callSeq > GONE_ON_LOOK_MAX) return true;
  return log.tail(callSeq).some((event) => isEvent(event, "user/message") && event.data.source.kind === "user");
}

/** Draws everything. Without `lookAt` files are taken in unseen. */
export function App({ store, lookAt = null }: { readonly store: PageStore; readonly lookAt?: LookAt | null }) {
  const state = usePageState(store);
  const { phase } = state;
  switch (phase.kind) {
    case "unusable":
      return <UnusableScreen error={phase.error} onVolatile={() => store.start(true)} onRetry={() => store.start()} />;
    case "lost":
      return <LostScreen error={phase.error} onContinue={() => store.startEmpty()} />;
    default:
      if (state.view === null && phase.kind !== "ready") {
        return <StartingScreen isSlow={phase.kind === "starting" && phase.isSlow} onRetry={() => store.start()} />;
      }
      return <Desk store={store} state={state} lookAt={lookAt} />;
  }
}

function Desk({ store, state, lookAt }: {
  readonly store: PageStore;
  readonly state: PageState;
  readonly lookAt: LookAt | null;
}) {
  const { phase, view, rows } = state;
  const { log } = store;
  const [pane, setPane] = useState<Pane>("talk");
  const [tab, setTab] = useState<SideTab>("log");
  const [chosen, setChosen] = useState<number | null>(null);
  const [open, setOpen] = useState<"model" | "help" | null>(null);
  const [later, setLater] = useState<string | null>(null);
  const [seenRepair, setSeenRepair] = useState("");
  const [areKeysOn, setKeysOn] = useState(true);
  const [isDropping, setDropping] = useState(false);
  const file = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setChosen(null);
    setLater(null); // Whoever opens a session that asks wants to see the question.
  }, [view?.id]);
  const name = view === null ? "Holdfast" : `${view.title ?? view.id} · Holdfast`;
  // A tab in the background says that it waits for somebody.
  const title = (view?.questions.length ?? 0) > 0 ? `(asks) ${name}` : name;
  useEffect(() => void (document.title = title), [title]);

  const wantsBank = tab === "bank" || (view?.unknowns.length ?? 0) > 0 || view?.repaired != null;
  const bankCause = wantsBank ? `${view?.id} ${view?.nextSeq} ${state.crashes}` : "";
  const bank = useAnswer(() => wantsBank ? store.bank() : Promise.resolve(null), [store, bankCause], null);

  const showSeq = (seq: number) => {
    setTab("log");
    setChosen(seq);
    setPane("side");
  };
  const showTab = (name: SideTab) => {
    setTab(name);
    setPane("side");
    requestAnimationFrame(() => document.querySelector<HTMLElement>("#side-pane [tabindex='0']")?.focus());
  };
  const talk = () => {
    setPane("talk");
    requestAnimationFrame(() => document.getElementById("message")?.focus());
  };
  const exportLog = async () => {
    const exported = await store.exported();
    if (exported !== null) download(exported.name, exported.bytes);
  };
  const { take, dialog: fileDialog } = useDroppedFiles(store, lookAt, () => setPane("talk"));
  const shortcuts: Shortcut[] = [
    { key: "/", words: "write a message", run: talk },
    { key: "n", words: "new session", run: () => store.close().then(talk) },
    {
      key: "s",
      words: "sessions",
      run: () => {
        setPane("sessions");
        requestAnimationFrame(() => document.querySelector<HTMLElement>(".session-name, .sidebar button")?.focus());
      },
    },
    { key: "l", words: "log", run: () => view !== null && showTab("log") },
    { key: "v", words: "what the model sees", run: () => view !== null && showTab("surface") },
    { key: "b", words: "the bank’s book", run: () => view !== null && showTab("bank") },
    {
      key: "q",
      words: "the open question, else the outcome that is unknown",
      run: () => {
        setLater(null);
        setPane("talk");
        requestAnimationFrame(() => document.querySelector("dialog[open]") === null && focusFirst(".unknown"));
      },
    },
    { key: "e", words: "export the log", run: () => view !== null && exportLog() },
    { key: "i", words: "import a log", run: () => file.current!.click() },
    {
      key: "x",
      words: "crash menu",
      run: () => {
        const menu = document.querySelector<HTMLDetailsElement>("details.crash");
        if (menu === null) return;
        menu.open = true;
        menu.querySelector("button")?.focus();
      },
    },
    { key: "m", words: "choose the model", run: () => setOpen("model") },
    { key: "?", words: "this list", run: () => setOpen("help") },
  ];
  useShortcuts(shortcuts, areKeysOn && open === null);

  const problems = problemsOf(state.problems, view?.id ?? null);
  const repairKey = view?.repaired == null ? "" : `${view.id} ${view.repaired.closers[0]?.seq} ${state.crashes}`;
  const canDecide = view !== null && view.role.kind !== "stuck" && view.role.kind !== "read-only";
  const question = canDecide ? view.questions[0] : undefined;
  // Crashes are for showing: a real model's question stands alone, and only the tab that writes runs the effect.
  const offersCrash = state.model.kind === "demo" && view?.role.kind === "owner";
  const decisions = `${state.crashes} ${question?.question} ${view?.unknowns.length} ${view?.repaired == null}`;
  useKeptFocus(phase.kind === "ready", view?.id ?? null, decisions);
  const refusal = phase.kind !== "ready"
    ? "The worker is starting again"
    : view?.role.kind === "stuck" || view?.role.kind === "read-only"
    ? "Read-only"
    : null;
  return (
    <div
      class={isDropping ? "desk dropping" : "desk"}
      data-pane={pane}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDropping(false);
        take(event.dataTransfer?.files);
      }}
    >
      <a class="skip" href="#message">Skip to the message</a>
      <TopBar
        store={store}
        state={state}
        onModel={() => setOpen("model")}
        onKeys={() => setOpen("help")}
      />

      <nav class="panes" aria-label="Panes">
        {(["sessions", "talk", "side"] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-current={pane === name ? "true" : undefined}
            disabled={name === "side" && view === null}
            onClick={() => setPane(name)}
          >
            {PANE_NAMES[name]}
          </button>
        ))}
      </nav>

      {problems.length > 0 && (
        <div class="problems">
          {problems.map((problem) => (
            <ProblemCard
              key={problem.number}
              store={store}
              problem={problem}
              name={problem.inTheWay === undefined ? null : state.names.get(problem.inTheWay) ?? null}
              onOpened={() => setPane("talk")}
            />
          ))}
        </div>
      )}
      <main class="whole">
        <section class="sidebar" aria-label="Sessions">
          <div class="bar">
            <h2>Sessions</h2>
            <button type="button" class="quiet" onClick={() => store.close().then(talk)}>New</button>
            <button type="button" class="quiet" onClick={() => file.current!.click()}>Import</button>
          </div>
          <SessionList
            asking={state.asking}
            names={state.names}
            rows={rows}
            openId={view?.id ?? null}
            store={store}
            onChosen={() => setPane("talk")}
          />
          <p class="explain">
            A log dropped anywhere on this page opens: of any version, damaged, or of Claude Code, Codex or pi.
          </p>
          <input
            ref={file}
            type="file"
            class="unseen"
            tabIndex={-1}
            aria-label="Import a log"
            accept=".zstd,.jsonl,.zip"
            onChange={(event) => {
              take(event.currentTarget.files).then(() => file.current!.value = "");
            }}
          />
        </section>

        <section class="talk" aria-label="Session">
          {view !== null && log !== null && (
            <div class="bar">
              <h2 title={view.id}>{view.title ?? view.id}</h2>
              <RoleLine role={view.role} />
              <ContextGaugeLine gauge={view.context} />
              <button
                type="button"
                class="quiet"
                disabled={refusal !== null || view.status === "running"}
                title="Has the earlier conversation summarised, so that the model reads less. The log keeps everything"
                onClick={() => store.compact()}
              >
                Compact
              </button>
              <button type="button" class="quiet" onClick={exportLog}>Export</button>
            </div>
          )}
          <div class="notices">
            {phase.kind !== "ready" && <p class="card crash-note">The worker died. A new one opens the log…</p>}
            {question !== undefined && later === question.question && (
              <div class="card waiting">
                <p>
                  <ToolName name={question.toolName} /> waits for your answer. Nothing has run.
                </p>
                <button type="button" onClick={() => setLater(null)}>Review</button>
              </div>
            )}
          </div>
          {view !== null && log !== null
            ? (
              <Fenced key={view.id} name="this conversation">
                <Conversation
                  log={log}
                  live={state.live}
                  durableSeq={view.durability.durableSeq}
                  isRunning={view.status === "running" && view.questions.length === 0}
                  onSeq={showSeq}
                  onStop={() => store.cancel()}
                >
                  {view.repaired !== null && seenRepair !== repairKey && (
                    <RepairNotice
                      notice={view.repaired}
                      verdicts={verdictsIn(log.tail(view.repaired.closers[0]?.seq ?? log.nextSeq))}
                      bank={bank}
                      onSeq={showSeq}
                      onClose={() => setSeenRepair(repairKey)}
                    />
                  )}
                  <Unknowns
                    unknowns={view.unknowns}
                    bank={bank}
                    askBank={() => store.bank()}
                    askPlaces={(seqs) => store.places(seqs)}
                    isReadOnly={!canDecide}
                    isLeftBehind={(callSeq) => hasGoneOn(log, callSeq)}
                    onSettle={(callSeq, verdict, note) => store.settle(callSeq, verdict, note)}
                    onSeq={showSeq}
                  />
                </Conversation>
              </Fenced>
            )
            : <Welcome />}
          <Composer
            isRunning={view?.status === "running"}
            refusal={refusal}
            suggestions={log === null || log.nextSeq === 0 ? SUGGESTIONS : []}
            draft={state.draft}
            onSend={(text) => store.send(text)}
            onCancel={() => store.cancel()}
          />
        </section>

        {view !== null && log !== null && (
          <Fenced key={view.id} name="the log">
            <SidePanel
              store={store}
              log={log}
              view={view}
              bank={bank}
              tab={tab}
              onTab={setTab}
              chosen={chosen}
              onChoose={setChosen}
            />
          </Fenced>
        )}
      </main>
      <footer class="bottom">
        {view === null
          ? <p class="explain">Nothing is written before the first message.</p>
          : <DurabilityLine durability={view.durability} persistence={state.persistence} />}
      </footer>

      <p class="unseen" role="status" aria-live="polite">{state.announcement}</p>
      {question !== undefined && later !== question.question && open === null && (
        <ApprovalDialog
          key={question.question}
          question={question}
          waiting={view!.questions.length - 1}
          onAnswer={(decision) => store.answer(question.question, decision)}
          onLater={() => setLater(question.question)}
          {...(offersCrash ? { onCrash: (at) => store.crashAt(at) } : {})}
        />
      )}
      {fileDialog}
      {open === "model" && (
        <ModelChooser
          current={state.model}
          onChoose={(choice, isKept) => store.chooseModel(choice, isKept)}
          onClose={() => setOpen(null)}
        />
      )}
      {open === "help" && (
        <ShortcutHelp
          shortcuts={shortcuts}
          isOn={areKeysOn}
          onToggle={() => setKeysOn(!areKeysOn)}
          onClose={() => setOpen(null)}
        />
      )}
    </div>
  );
}
