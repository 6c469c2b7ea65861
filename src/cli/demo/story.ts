/**
 * `deno task demo`: the story in a minute.
 *
 * An agent in a process of its own pays people at a pretend bank and is killed with SIGKILL before, during and after a
 * payment. After each restart the screen shows, for each call, its class, the evidence in the log, what the bank says, and what
 * asking the bank settled. Exit code 1 when a class or a verdict is wrong.
 *
 * @module
 */
import process from "node:process";
import type { CallClass } from "../../../mod.ts";
import { openFileStore } from "../../entry/file.ts";
import { requireDeno } from "../deno_version.ts";
import { columns } from "../format.ts";
import { BankProcess, Payer } from "./actors.ts";
import { classFor, type Evidence, isTrue, isVerdictTrue, paymentOf, readEvidence, truthInWords } from "./evidence.ts";
import type { Order, Pay, Settled } from "./payer.ts";

/** One kill. */
interface Chapter {
  /** Also the id of its session. */
  readonly name: string;
  readonly headline: string;
  readonly pays: readonly [Pay, Pay];
  /** How long a person thinks about each payee; `null`: until the process is dead. */
  readonly answerAfterMs: Order["answerAfterMs"];
  /** Waits for the instant of the kill, and says what happens until then. */
  readonly untilKill: (payer: Payer, bank: BankProcess, pays: readonly [Pay, Pay]) => Promise<void>;
  /** Whether the next start waits until the bank has done what it was asked before the kill. */
  readonly isBankFirst: boolean;
  readonly expected: readonly [CallClass | "done", CallClass | "done"];
  /** What asking the bank must find of the call whose outcome is unknown. */
  readonly verdict?: "happened" | "absent";
  readonly moral: string;
}

/** Nothing of this takes longer, or something is wrong. */
const STORY_MS_MAX = 60_000;
/** How long the bank takes with the money of the second chapter: longer than the payer lives. */
const SLOW_MS = 1_500;
/** How long it would take with that of the third, if nobody came and asked: longer than any start takes. */
const VERY_SLOW_MS = 45_000;
/** How long a person takes to say yes. */
const THINKING_MS = 300;

const CHAPTERS: readonly Chapter[] = [
  {
    name: "before",
    headline: "Before the payment: a person is still thinking",
    pays: [{ to: "alice", amount: 10 }, { to: "bob", amount: 20 }],
    answerAfterMs: { alice: null },
    async untilKill(payer, _bank, [first]) {
      await payer.until("asked");
      step("asks", `may I pay ${first.amount} to ${first.to}? Nobody has answered yet`);
    },
    isBankFirst: true,
    expected: ["not_dispatched", "not_started"],
    moral: "alice was recorded but has no marker, bob was only proposed: nothing left the machine.",
  },
  {
    name: "during",
    headline: "During the payment: the request is at the bank, the money has not moved",
    pays: [{ to: "carol", amount: 30 }, { to: "dave", amount: 40 }],
    answerAfterMs: { carol: THINKING_MS },
    untilKill: untilSent,
    isBankFirst: true,
    expected: ["outcome_unknown", "not_started"],
    verdict: "happened",
    moral: "carol has a marker and no result: no log can know more, so the bank was asked under its key.",
  },
  {
    name: "late",
    headline: "The same, and the next start is faster than the money",
    pays: [{ to: "grace", amount: 70 }, { to: "heidi", amount: 80 }],
    answerAfterMs: { grace: THINKING_MS },
    untilKill: untilSent,
    isBankFirst: false,
    expected: ["outcome_unknown", "not_started"],
    verdict: "absent",
    moral: "Asking closed the key for ever: the request that still waited at the bank was refused.",
  },
  {
    name: "after",
    headline: "After the payment: the first result is durable, the second call waits for a person",
    pays: [{ to: "erin", amount: 50 }, { to: "frank", amount: 60 }],
    answerAfterMs: { erin: THINKING_MS, frank: null },
    async untilKill(payer, _bank, [first, second]) {
      await payer.until("asked");
      step("asks", `may I pay ${first.amount} to ${first.to}? The answer is yes`);
      await payer.until("result");
      step("bank", `paid ${first.amount} to ${first.to}, and the result is in the log`);
      await payer.until("asked");
      step("asks", `may I pay ${second.amount} to ${second.to}? Nobody has answered yet`);
    },
    isBankFirst: true,
    expected: ["done", "not_dispatched"],
    moral: "erin has a result. frank was recorded but has no marker: nothing was sent.",
  },
];

/** What a chapter leaves for the end. */
interface Left {
  readonly chapter: Chapter;
  readonly owed: readonly Pay[];
  readonly answers: readonly Answer[];
  readonly rightCount: number;
}

/** What asking the bank settled, and the evidence that it was asked by. */
type Answer = Settled & { readonly found: Evidence };

const isTerminal = process.stdout.isTTY === true && !Deno.noColor;
const bold = (text: string) => isTerminal ? `\u001b[1m${text}\u001b[22m` : text;

function line(text = ""): void {
  process.stdout.write(text + "\n");
}

function step(who: string, what: string): void {
  line(`   ${who.padEnd(13)} ${what}`);
}

/** A person says yes, the request is at the bank, and the money has not moved. */
async function untilSent(payer: Payer, bank: BankProcess, [first]: readonly [Pay, Pay]): Promise<void> {
  await payer.until("asked");
  step("asks", `may I pay ${first.amount} to ${first.to}? The answer is yes`);
  await payer.until("sends");
  step("sends", `POST /pay, with the effect key as idempotency key`);
  await bank.truthWhen(({ payments }) => payments.some((payment) => payment.to === first.to));
  step("bank", "has the request, and takes its time");
}

async function tellChapter(number: number, chapter: Chapter, root: string, bank: BankProcess): Promise<Left> {
  const { name, pays, answerAfterMs } = chapter;
  line(bold(`${number}  ${chapter.headline}`));
  line();
  const order: Order = { root, id: name, isNew: true, bankPort: bank.port, pays, answerAfterMs };
  let killedAt: number;
  {
    await using payer = new Payer(order);
    step(`payer ${payer.pid}`, `the model proposes: ${pays.map(words).join(", ")}`);
    await chapter.untilKill(payer, bank, pays);
    killedAt = await payer.kill();
    step("SIGKILL", `payer ${payer.pid} is gone`);
  }
  const { payments } = await bank.truthWhen(({ inFlight }) => !chapter.isBankFirst || inFlight === 0);

  await using store = openFileStore({ root });
  const evidence = await readEvidence(store, name);
  await using again = new Payer({ ...order, isNew: false, pays: [] });
  const { calls, settled, closers, tookMs } = await again.until("resumed");
  await again.end();
  const asks = settled.length === 0 ? "" : ", asks the bank";
  const did = `starts, reads the log${asks} and closes the turn (${closers} events, ${tookMs.toFixed(0)} ms)`;
  step(`payer ${again.pid}`, did);
  line();

  const rows = evidence.map((found, index) => {
    const given = classFor(found, calls);
    const payment = paymentOf(found, payments);
    const isRight = isTrue(given, payment) && given === chapter.expected[index];
    return { found, given, payment, isRight };
  });
  const table = columns([
    ["", "class", "tool/call", "dispatched", "result", "the bank says", ""],
    ...rows.map(({ found, given, payment, isRight }) => [
      `${found.pay.to} ${found.pay.amount}`,
      given,
      ...[found.called, found.dispatched, found.result].map((seq) => seq === null ? "none" : `seq ${seq}`),
      truthInWords(payment, killedAt),
      isRight ? "right" : "WRONG",
    ]),
  ]);
  table.forEach((row, index) => line(`   ${index === 0 ? bold(row) : row}`));
  if (rows.length !== pays.length) line(`   WRONG: the log holds ${rows.length} calls, proposed were ${pays.length}`);
  line();
  const answers = evidence.flatMap((found): Answer[] => {
    const answer = settled.find(({ callSeq }) => callSeq === found.called);
    return answer === undefined ? [] : [{ ...answer, found }];
  });
  const isSettledAsExpected = tellAnswers(chapter, answers);
  const absent = answers.flatMap(({ found, verdict }) => verdict === "absent" ? [found] : []);
  const owed = rows.filter(({ found, given }) => given.startsWith("not_") || absent.includes(found));
  const rightCount = isSettledAsExpected ? rows.filter(({ isRight }) => isRight).length : 0;
  return { chapter, owed: owed.map(({ found }) => found.pay), answers, rightCount };
}

/** Says what asking the bank settled. Returns whether that is what the chapter is about. */
function tellAnswers(
  { name, moral, verdict: expected }: Chapter,
  answers: readonly Answer[],
): boolean {
  for (const { found: { pay, effectKey }, verdict, says } of answers) {
    step("asks the bank", `what became of key ${effectKey?.slice(0, 8)}…, ${words(pay)}?`);
    step("settled", `${pay.to}: ${verdict}, by asking the bank; no person was needed`);
    step("model reads", shortened(says.replaceAll("\n", " ")));
  }
  line(`   ${moral}`);
  for (const { found, verdict } of answers) {
    if (verdict !== "happened") continue;
    line("   Had the bank not answered, it would stay unknown until a person who knows types:");
    line(`     ${command(["resolve", name, String(found.called), "--happened"])}`);
  }
  const isExpected = answers[0]?.verdict === expected && answers.length <= 1;
  if (!isExpected) line(`   WRONG: asking the bank should have found "${expected ?? "nothing"}"`);
  line();
  return isExpected;
}

/** Pays what is still owed, and looks whether what was settled has stayed true. Returns how many verdicts were right. */
async function tellEnding(left: readonly Left[], root: string, bank: BankProcess): Promise<number> {
  line(bold(`${left.length + 1}  Go on: the model asks again for what did not happen`));
  line();
  for (const { chapter: { name, pays }, owed } of left) {
    const answerAfterMs = Object.fromEntries(pays.map(({ to }) => [to, 0]));
    const order: Order = { root, id: name, isNew: false, bankPort: bank.port, pays: owed, answerAfterMs };
    await using payer = new Payer(order);
    for await (const news of payer.news()) {
      if (news.kind === "result") step(`payer ${payer.pid}`, `session ${name}: ${news.text}`);
    }
  }
  line();
  const { payments } = await bank.truth();
  const answers = left.flatMap(({ answers }) => answers);
  return answers.filter(({ found, verdict }) => isVerdictTrue(verdict, found, payments)).length;
}

function words({ to, amount }: Pay): string {
  return `pay ${amount} to ${to}`;
}

/** The command as it is typed with the Deno that runs this. */
function command(args: readonly string[]): string {
  const deno = process.env["npm_command"] === "exec" ? "npx -y deno@2.9.6" : "deno";
  return `${deno} task holdfast ${args.join(" ")}`;
}

function shortened(text: string): string {
  return text.length <= 80 ? text : `…${text.slice(-79)}`;
}

/** Tells it all. Returns the exit code. */
async function tell(root: string): Promise<number> {
  const beganMs = performance.now();
  line(bold("Holdfast: the story in a minute"));
  line();
  line("An agent pays people through a bank, two calls in one message, each after a question. Its process is");
  line("killed four times. The next start says for each call what is true. The bank says if that is right.");
  line();
  await using bank = await BankProcess.start({
    carol: { beforeMs: SLOW_MS, afterMs: 0 },
    grace: { beforeMs: VERY_SLOW_MS, afterMs: 0 },
  });
  const left: Left[] = [];
  for (const [index, chapter] of CHAPTERS.entries()) left.push(await tellChapter(index + 1, chapter, root, bank));
  const rightVerdicts = await tellEnding(left, root, bank);

  const { payments } = await bank.truth();
  const people = CHAPTERS.flatMap(({ pays }) => pays);
  const timesPaid = (pay: Pay) => payments.filter(({ to, paidAt }) => to === pay.to && paidAt !== null).length;
  const once = people.filter((pay) => timesPaid(pay) === 1).length;
  const twice = people.filter((pay) => timesPaid(pay) > 1).length;
  const right = left.reduce((sum, { rightCount }) => sum + rightCount, 0);
  const settled = left.reduce((sum, { answers }) => sum + answers.length, 0);
  const isFine = right === people.length && once === people.length && rightVerdicts === settled;
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(0);
  const fits = `${right} of ${people.length} classes and ${rightVerdicts} of ${settled} verdicts fit`;
  const paid = `${once} of ${people.length} people paid once, ${twice} twice`;
  line(bold(`${isFine ? "Right" : "WRONG"}: ${CHAPTERS.length} kills, ${fits}; ${paid} (${seconds} s)`));
  return isFine ? 0 : 1;
}

if (import.meta.main) {
  requireDeno("demo");
  const root = await Deno.makeTempDir({ prefix: "holdfast-" });
  let exitCode = 1;
  const tooLong = Promise.withResolvers<never>();
  const timer = setTimeout(() => tooLong.reject(new Error("The story takes too long")), STORY_MS_MAX);
  try {
    exitCode = await Promise.race([tell(root), tooLong.promise]);
  } catch (error) {
    process.stderr.write(`The story broke off: ${error instanceof Error ? error.message : error}\n`);
  } finally {
    clearTimeout(timer);
    await Deno.remove(root, { recursive: true });
  }
  Deno.exit(exitCode);
}
