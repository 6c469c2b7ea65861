/**
 * `deno task demo`: the story in a minute.
 *
 * An agent in a process of its own pays people at a pretend bank and is killed with SIGKILL before, during and after a
 * payment. After each restart the screen shows, for each call, its class, the evidence in the log, and what the bank says.
 * Exit code 1 when a class is wrong.
 *
 * @module
 */
import process from "node:process";
import type { CallClass } from "../../../mod.ts";
import { openFileStore } from "../../entry/file.ts";
import { requireDeno } from "../deno_version.ts";
import { columns } from "../format.ts";
import { BankProcess, holdfast, Payer } from "./actors.ts";
import { classFor, type Evidence, isTrue, paymentOf, readEvidence, truthInWords } from "./evidence.ts";
import type { Order, Pay } from "./payer.ts";

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
  readonly expected: readonly [CallClass | "done", CallClass | "done"];
  readonly moral: string;
}

/** Nothing of this takes longer, or something is wrong. */
const STORY_MS_MAX = 60_000;
/** How long the bank takes with the money of the second chapter: longer than the payer lives. */
const SLOW_MS = 1_500;
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
    expected: ["not_dispatched", "not_started"],
    moral: "alice was recorded but has no marker, bob was only proposed: nothing left the machine.",
  },
  {
    name: "during",
    headline: "During the payment: the request is at the bank, the money has not moved",
    pays: [{ to: "carol", amount: 30 }, { to: "dave", amount: 40 }],
    answerAfterMs: { carol: THINKING_MS },
    async untilKill(payer, bank, [first]) {
      await payer.until("asked");
      step("asks", `may I pay ${first.amount} to ${first.to}? The answer is yes`);
      await payer.until("sends");
      step("sends", `POST /pay, with the effect key as idempotency key`);
      await bank.truthWhen(({ payments }) => payments.some((payment) => payment.to === first.to));
      step("bank", "has the request, and takes its time");
    },
    expected: ["outcome_unknown", "not_started"],
    moral: "carol has a marker and no result: the request may have arrived. No log can know more.",
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
    expected: ["done", "not_dispatched"],
    moral: "erin has a result. frank was recorded but has no marker: nothing was sent.",
  },
];

/** What a chapter leaves for the end. */
interface Left {
  readonly chapter: Chapter;
  readonly owed: readonly Pay[];
  readonly unknown: readonly Evidence[];
  readonly rightCount: number;
}

const isTerminal = process.stdout.isTTY === true && !Deno.noColor;
const bold = (text: string) => isTerminal ? `\u001b[1m${text}\u001b[22m` : text;

function line(text = ""): void {
  process.stdout.write(text + "\n");
}

function step(who: string, what: string): void {
  line(`   ${who.padEnd(13)} ${what}`);
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
  const { payments } = await bank.truthWhen(({ inFlight }) => inFlight === 0);

  await using store = openFileStore({ root });
  const evidence = await readEvidence(store, name);
  await using again = new Payer({ ...order, isNew: false, pays: [] });
  const { calls, closers, tookMs } = await again.until("resumed");
  await again.end();
  step(`payer ${again.pid}`, `starts, reads the log and closes the turn (${closers} events, ${tookMs.toFixed(0)} ms)`);
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
  line(`   ${chapter.moral}`);
  const unknown = rows.filter(({ given }) => given === "outcome_unknown").map(({ found }) => found);
  for (const { called } of unknown) {
    line("   Ask the bank, then type the one that is true (here the story will do it):");
    line(`     ${command(resolveArgs(name, called, "--happened", root))}`);
    line(`     ${command(resolveArgs(name, called, "--absent", root))}`);
  }
  line();
  const owed = rows.filter(({ given }) => given.startsWith("not_")).map(({ found }) => found.pay);
  return { chapter, owed, unknown, rightCount: rows.filter(({ isRight }) => isRight).length };
}

/** Settles what is unknown by what the bank knows, and pays what is still owed. */
async function tellEnding(left: readonly Left[], root: string, bank: BankProcess): Promise<void> {
  line(bold(`${left.length + 1}  Settle what is unknown, and go on`));
  line();
  const { payments } = await bank.truth();
  for (const { chapter: { name, pays }, owed, unknown } of left) {
    const stillOwed = [...owed];
    for (const found of unknown) {
      const payment = payments.find(({ key }) => key === found.effectKey);
      const isPaid = payment?.paidAt != null;
      step("bank", `key ${found.effectKey?.slice(0, 8)}…: ${isPaid ? "paid" : "not paid"}`);
      const args = resolveArgs(name, found.called, isPaid ? "--happened" : "--absent", root);
      step("person", command(args));
      step("holdfast", await holdfast(args));
      if (!isPaid) stillOwed.unshift(found.pay);
    }
    const answerAfterMs = Object.fromEntries(pays.map(({ to }) => [to, 0]));
    const order: Order = { root, id: name, isNew: false, bankPort: bank.port, pays: stillOwed, answerAfterMs };
    await using payer = new Payer(order);
    for await (const news of payer.news()) {
      if (news.kind === "told") step("model reads", shortened(news.text));
      if (news.kind === "result") step(`payer ${payer.pid}`, `session ${name}: ${news.text}`);
    }
  }
  line();
}

function words({ to, amount }: Pay): string {
  return `pay ${amount} to ${to}`;
}

function resolveArgs(id: string, callSeq: number | null, verdict: "--happened" | "--absent", root: string): string[] {
  return ["resolve", id, String(callSeq), verdict, "--root", root];
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
  line("killed three times. The next start says for each call what is true. The bank says if that is right.");
  line();
  await using bank = await BankProcess.start({ carol: { beforeMs: SLOW_MS, afterMs: 0 } });
  const left: Left[] = [];
  for (const [index, chapter] of CHAPTERS.entries()) left.push(await tellChapter(index + 1, chapter, root, bank));
  await tellEnding(left, root, bank);

  const { payments } = await bank.truth();
  const people = CHAPTERS.flatMap(({ pays }) => pays);
  const timesPaid = (pay: Pay) => payments.filter(({ to, paidAt }) => to === pay.to && paidAt !== null).length;
  const once = people.filter((pay) => timesPaid(pay) === 1).length;
  const twice = people.filter((pay) => timesPaid(pay) > 1).length;
  const right = left.reduce((sum, { rightCount }) => sum + rightCount, 0);
  const isFine = right === people.length && once === people.length;
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(0);
  line(bold(
    `${
      isFine ? "Right" : "WRONG"
    }: ${CHAPTERS.length} kills, ${right} of ${people.length} classes agree with the bank; ` +
      `${once} of ${people.length} people paid once, ${twice} twice (${seconds} s)`,
  ));
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
