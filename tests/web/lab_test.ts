/** The run that the page of the crash lab steps through, and what it says about each state. */
import { assert, assertEquals } from "@std/assert";
import { linesBetween, linesOf } from "../../web/lab/log_lines.ts";
import { lookAt } from "../../web/lab/next_start.ts";
import { type Moment, runPayment } from "../../web/lab/payment_run.ts";
import { type Finding, FINDINGS, type Survey, surveyOf } from "../../web/lab/survey.ts";

async function surveyed(kind: "posix" | "opfs", asksBank: boolean): Promise<Survey> {
  let last: Survey | null = null;
  await surveyOf(await runPayment(kind), { asksBank }, (survey) => last = survey, new AbortController().signal);
  return last!;
}

Deno.test("runPayment() is the same run on both media, and every step of the payment is a moment of it", async () => {
  const [posix, opfs] = [await runPayment("posix"), await runPayment("opfs")];
  const facts = ({ moments }: typeof posix) => moments.map(({ stateAt: _, ...moment }) => moment);
  assertEquals(facts(posix), facts(opfs));
  assertEquals(facts(posix), facts(await runPayment("posix")));
  assertEquals([...new Set(posix.moments.map(({ bank }) => bank))], ["not asked", "under way", "paid"]);
  for (const type of ["tool/call", "effect/dispatched", "tool/result", "turn/end"]) {
    assert(posix.moments.some(({ done }) => done.includes(type)), type);
  }
  assert(posix.moments.every(({ acknowledgedBytes, writtenBytes }) => acknowledgedBytes <= writtenBytes));
  // The request leaves when the marker is durable, and not before.
  const away = posix.moments.find(({ bank }) => bank === "under way")!;
  const durable = linesBetween(posix.log, posix.turnStartBytes, away.acknowledgedBytes);
  assertEquals(durable.at(-1), "effect/dispatched");
});

Deno.test("surveyOf() finds nothing false in any state, on both media, whether or not the bank is asked", async () => {
  for (const [kind, asksBank] of [["posix", true], ["opfs", false]] as const) {
    const { looked, all, lies, moments, unknown, settled } = await surveyed(kind, asksBank);
    assertEquals([looked, lies], [all, []]);
    const total = (finding: Finding) => moments.reduce((sum, counts) => sum + (counts[finding] ?? 0), 0);
    assertEquals(FINDINGS.reduce((sum, finding) => sum + total(finding), 0), all);
    for (const finding of FINDINGS) assert(total(finding) > 0, `no state came to ${finding}`);
    assertEquals(unknown, total("outcome_unknown"));
    assertEquals(settled, asksBank ? unknown : 0);
  }
});

Deno.test("surveyOf() stops when it is told to", async () => {
  const stopping = new AbortController();
  let told = 0;
  const tell = () => {
    told++;
    stopping.abort();
  };
  await surveyOf(await runPayment("posix"), { asksBank: true }, tell, stopping.signal);
  assertEquals(told, 1);
});

Deno.test("lookAt() calls a class or a loss false when the truth is another", async () => {
  const run = await runPayment("posix");
  const look = (moment: Moment, state = 0) => lookAt(run, moment, moment.stateAt(state), { asksBank: true });
  const asked = run.moments.find(({ done }) => done.includes("tool/call"))!;
  const after = run.moments[run.moments.indexOf(asked) + 1]!;
  const effectKey = "0".repeat(32);
  assertEquals((await look(after)).lies, []);
  const paid = await look({ ...after, bank: "paid", effectKey });
  assertEquals(paid.lies, ["not_dispatched, and the request had left"]);
  const last = run.moments.at(-1)!;
  assertEquals((await look({ ...last, bank: "not asked" })).lies, ["done, and the bank had not paid"]);
  // In number 0 nothing of what waited has arrived: had it been acknowledged, it would be missed.
  const more = await look({ ...asked, acknowledgedBytes: asked.writtenBytes });
  assert(more.lies.includes("what was acknowledged is not there any more"));
});

Deno.test("linesOf() tells whole lines from torn ones, from zeros and from damage", () => {
  const bytes = new TextEncoder().encode('{"type":"session"}\n{"type":"turn/start","seq":0}\nnonsense\n{"type":"tur');
  assertEquals(linesOf(bytes).map(({ type, seq, isWhole }) => [type, seq, isWhole]), [
    ["header", null, true],
    ["turn/start", 0, true],
    ["damaged", null, false],
    ["torn", null, false],
  ]);
  const zeros = linesOf(new Uint8Array(3));
  assertEquals(zeros.map(({ type, text, sizeBytes }) => [type, text, sizeBytes]), [["zeros", "\u2400\u2400\u2400", 3]]);
  assertEquals(linesOf(new Uint8Array(0)), []);
});
