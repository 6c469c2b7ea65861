import { assertEquals, assertStringIncludes } from "@std/assert";
import { PROGRESS_FILE_MS, startProgress } from "../../src/cli/progress.ts";
import { FakeClock } from "../support/fake_clock.ts";

function started(isTerminal: boolean) {
  const clock = new FakeClock();
  const written: string[] = [];
  const line = startProgress("reading", { clock, isTerminal, write: (text) => void written.push(text) });
  return { clock, written, line };
}

Deno.test("startProgress() is silent for the first second, and leaves no timer", async () => {
  const { clock, written, line } = started(true);
  await clock.advance(999);
  line.report("reading more");
  line[Symbol.dispose]();
  await clock.advance(5000);
  assertEquals([written, clock.pendingTimers], [[], 0]);
});

Deno.test("startProgress() draws one line over and over on a terminal, and takes it away", async () => {
  const { clock, written, line } = started(true);
  await clock.advance(1000);
  assertEquals(written, ["\r\u001b[Kreading (1 s)"]);
  line.report("reading: 5 events");
  assertEquals(written.length, 1); // Not due yet.
  await clock.advance(1000);
  assertEquals(written.at(-1), "\r\u001b[Kreading: 5 events (2 s)");
  line[Symbol.dispose]();
  assertEquals(written.at(-1), "\r\u001b[K");
});

Deno.test("startProgress() adds a line now and then where none can be taken back", async () => {
  const { clock, written, line } = started(false);
  await clock.advance(1000);
  assertEquals(written, ["reading (1 s)\n"]);
  await clock.advance(PROGRESS_FILE_MS - 1);
  assertEquals(written.length, 1);
  await clock.advance(1);
  assertEquals(written.length, 2);
  line[Symbol.dispose]();
  assertEquals(written.length, 2);
});

Deno.test("startProgress() draws at a report when a computation left the clock no turn", () => {
  const { clock, written, line } = started(true);
  clock.set(clock.now() + 3000);
  line.report("reading: a\u001b[2Jb");
  assertStringIncludes(written[0]!, "reading: a␛[2Jb (3 s)");
  line[Symbol.dispose]();
});
