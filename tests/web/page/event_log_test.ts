import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../../mod.ts";
import { EventLog, FETCHES_MAX, PAGE_EVENTS, PAGES_MAX } from "../../../web/page/event_log.ts";

const event = (seq: number, type = "turn/start"): SessionEvent => ({ type, seq, time: seq, data: { turn: seq } });

/** A log behind a fetch that the test answers by hand. */
function farLog(size: number) {
  const asked: { from: number; answer: () => void; fail: () => void }[] = [];
  const log = new EventLog((from, limit) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ events: SessionEvent[]; nextFrom: null }>();
    const end = Math.min(size, from + limit);
    const events = Array.from({ length: Math.max(0, end - from) }, (_, index) => event(from + index));
    asked.push({ from, answer: () => resolve({ events, nextFrom: null }), fail: () => reject(new Error("gone")) });
    return promise;
  });
  log.extend(size);
  return { log, asked };
}

/** Resolves after everything that is already settled was taken in. */
const settled = () => new Promise((over) => setTimeout(over));

Deno.test("EventLog fetches the page of an event that is wanted, once, and tells when it is there", async () => {
  const { log, asked } = farLog(1000);
  let changes = 0;
  log.subscribe(() => changes++);
  assertEquals([log.get(300), log.get(301), asked.map(({ from }) => from)], [null, null, [PAGE_EVENTS]]);
  asked[0]!.answer();
  await settled();
  assertEquals([log.get(300)?.seq, log.get(511)?.seq, changes], [300, 511, 1]);
  assertEquals(asked.length, 1);
  assertEquals([log.get(1000), asked.length], [null, 1], "it asks for what is not there");
});

Deno.test("EventLog fetches at most FETCHES_MAX pages at once, and of the others only the newest wishes", async () => {
  const { log, asked } = farLog(100_000);
  for (let page = 0; page < 50; page++) log.get(page * PAGE_EVENTS);
  assertEquals(asked.length, FETCHES_MAX);
  for (let index = 0; index < asked.length; index++) {
    asked[index]!.answer();
    await settled();
  }
  assertEquals(asked.map(({ from }) => from / PAGE_EVENTS), [0, 1, 2, 49, 48, 47]);
});

Deno.test("EventLog holds at most PAGES_MAX pages, the least recently used goes first", async () => {
  const { log, asked } = farLog(1_000_000);
  const want = async (page: number) => {
    const before = asked.length;
    log.get(page * PAGE_EVENTS);
    if (asked.length > before) asked.at(-1)!.answer();
    await settled();
  };
  for (let page = 0; page < PAGES_MAX; page++) await want(page);
  assertEquals(asked.length, PAGES_MAX);
  await want(0);
  await want(PAGES_MAX);
  assert(log.get(0) !== null, "what was used a moment ago is gone");
  assertEquals(log.get(PAGE_EVENTS), null, "the oldest page is still held");
});

Deno.test("EventLog.reset() forgets what a takeover superseded, also what is still on its way", async () => {
  const { log, asked } = farLog(0);
  log.push([0, 1, 2, 3, 4].map((seq) => event(seq)));
  log.reset(3);
  assertEquals([log.nextSeq, log.tail(0).map(({ seq }) => seq)], [3, [0, 1, 2]]);
  log.push([event(3, "turn/end")]);
  assertEquals(log.tail(0).map(({ type }) => type).at(-1), "turn/end");

  const far = farLog(10);
  far.log.get(9);
  far.log.reset(5);
  far.asked[0]!.answer();
  await settled();
  assertEquals([far.log.nextSeq, far.log.tail(0).length], [5, 5]);
  assertEquals(asked.length, 0);
});

Deno.test("EventLog.tail() is the longest run at the end, and fetches what is missing before it", async () => {
  const { log, asked } = farLog(600);
  log.push([event(600), event(601)]);
  assertEquals(log.tail(500).map(({ seq }) => seq), [600, 601]);
  asked[0]!.answer();
  await settled();
  assertEquals(log.tail(512).map(({ seq }) => seq), Array.from({ length: 90 }, (_, index) => 512 + index));
  assertEquals(log.tail(500).length, 90, "there is a gap before 512");
  asked[1]!.answer();
  await settled();
  assertEquals(log.tail(500).length, 102);
});

Deno.test("EventLog asks again for a page whose fetch failed, and not after close()", async () => {
  const { log, asked } = farLog(10);
  log.get(0);
  asked[0]!.fail();
  await settled();
  assertEquals([log.get(0), asked.length], [null, 2]);
  log.close();
  asked[1]!.answer();
  await settled();
  assertEquals([log.get(0), asked.length], [null, 2]);
});

Deno.test("EventLog does not ask over and over for what is not durable yet", async () => {
  const { log, asked } = farLog(10);
  log.extend(12);
  const drawn = () => Array.from({ length: 12 }, (_, seq) => log.get(seq)).filter((event) => event !== null).length;
  log.subscribe(drawn);
  drawn();
  asked[0]!.answer();
  await settled();
  assertEquals([drawn(), asked.length], [10, 1]);
  log.refresh();
  assertEquals(asked.length, 2, "it was not asked again after more became durable");
  asked[1]!.answer();
  await settled();
  log.push([event(10), event(11)]);
  assertEquals([drawn(), asked.length], [12, 2]);
});

Deno.test("EventLog fetches the rest of a page whose answer was cut short by large events", async () => {
  const asked: [number, number][] = [];
  const log = new EventLog((from, limit) => {
    asked.push([from, limit]);
    const events = [event(from), event(from + 1)].filter(({ seq }) => seq < 5);
    return Promise.resolve({ events, nextFrom: from + 2 < 5 ? from + 2 : null });
  });
  log.extend(5);
  assertEquals(log.tail(0), []);
  await settled();
  assertEquals(log.tail(0).map(({ seq }) => seq), [0, 1, 2, 3, 4]);
  assertEquals(asked, [[0, PAGE_EVENTS], [2, PAGE_EVENTS - 2], [4, PAGE_EVENTS - 4]]);
});
