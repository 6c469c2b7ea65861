import { assert, assertEquals } from "@std/assert";
import { encodeRow, type SessionEvent, type StreamChunk, StreamRecorder } from "../../src/event/mod.ts";
import { PAGE_SIZE_BYTES_MAX, PREVIEW_SIZE_BYTES_MAX } from "../../src/server/limits.ts";
import { startServer, type TestServer, TOKEN } from "../server/server_support.ts";

const HEADER = { type: "session", version: 3, createdAt: 1, isSeeded: false, delegationDepth: 0 };

/** Takes a log in as a client does. */
async function importRows(server: TestServer, id: string, events: readonly SessionEvent[]): Promise<void> {
  const rows = [JSON.stringify({ ...HEADER, id }), ...events.map(encodeRow)];
  const response = await fetch(`${server.origin}/v1/sessions/import`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/x-ndjson" },
    body: rows.join("\n") + "\n",
  });
  assertEquals(response.status, 201, await response.text());
}

function event(seq: number, type: string, data: unknown, more: object = {}): SessionEvent {
  return { type, seq, time: 1, data, ...more } as unknown as SessionEvent;
}

function note(seq: number, text: string): SessionEvent {
  return event(seq, "bench/note", { text }, { ignorable: true });
}

/** A page as it came: its size, and what is in it. */
async function page(server: TestServer, path: string) {
  const text = await (await server.ask(path)).text();
  return { sizeBytes: new TextEncoder().encode(text).length, ...JSON.parse(text) } as {
    sizeBytes: number;
    // deno-lint-ignore no-explicit-any -- rows are whatever they are
    events: any[];
    nextFrom: number | null;
  };
}

Deno.test("field/F06: of a log with one row of 12.8 million characters a page has a cut row and says where the whole is", async () => {
  await using server = await startServer();
  const long = "0123456789".repeat(1_280_000);
  const events = Array.from({ length: 18 }, (_, seq) => note(seq, seq === 9 ? long : `note ${seq}`));
  await importRows(server, "a", events);
  const started = performance.now();
  const first = await page(server, "/v1/sessions/a/events");
  console.log(
    `a log with a row of 12.8 million characters is opened and shown within ${
      Math.round(performance.now() - started)
    } ms`,
  );
  assert(first.sizeBytes <= PAGE_SIZE_BYTES_MAX, `${first.sizeBytes} bytes`);
  assertEquals([first.events.length, first.nextFrom], [10, 10]);
  const { preview, data, ...rest } = first.events[9];
  assertEquals(rest, { type: "bench/note", seq: 9, time: 1, ignorable: true });
  assert(long.startsWith(data.text.slice(0, -1)) && data.text.endsWith("…") && data.text.length > 1000);
  assertEquals(preview, { sizeBytes: encodeRow(events[9]!).length, href: "/v1/sessions/a/events/9" });
  assert(JSON.stringify(first.events[9]).length <= PREVIEW_SIZE_BYTES_MAX);
  // The handle gives the row as it is stored, and every other row is as it is stored.
  assertEquals(await (await server.ask(preview.href)).text(), encodeRow(events[9]!));
  const second = await page(server, "/v1/sessions/a/events?from=10");
  assertEquals([...first.events.slice(0, 9), ...second.events], events.toSpliced(9, 1) as unknown[]);
  await server.json("/v1/sessions/a/events/18", { status: 404 });
  await server.json("/v1/sessions/a/events/x", { status: 400 });
});

Deno.test("field/F08: of a session with 30,000 chunks no page has over 256 KiB, chunk runs are folded, and every event comes once", async () => {
  await using server = await startServer();
  // One message of 30,000 chunks, and 300 of 100 each.
  const events = [message(0, 30_000), ...Array.from({ length: 300 }, (_, index) => message(index + 1, 100))];
  assert(encodeRow(events[0]!).length > PAGE_SIZE_BYTES_MAX, "the first row would fit");
  await importRows(server, "a", events);
  const seqs: number[] = [];
  for (let from: number | null = 0; from !== null;) {
    const { sizeBytes, events: found, nextFrom }: Awaited<ReturnType<typeof page>> = await page(
      server,
      `/v1/sessions/a/events?from=${from}&limit=100`,
    );
    assert(sizeBytes <= PAGE_SIZE_BYTES_MAX, `the page from ${from} has ${sizeBytes} bytes`);
    assert(found.length > 0 && found.length <= 100);
    seqs.push(...found.map(({ seq }) => seq));
    if (from === 0) {
      const [{ data }] = found;
      const [run] = data.stream.filter((record: { type: string }) => record.type === "text-chunks");
      assertEquals([run.texts.length, run.dt], [1, []]);
      assert(textOf(30_000).startsWith(run.texts[0].replace("…", "")));
    } else assertEquals(found, events.slice(from, from + found.length) as unknown[]);
    from = nextFrom;
  }
  assertEquals(seqs, events.map(({ seq }) => seq));
});

function textOf(chunks: number): string {
  return Array.from({ length: chunks }, (_, index) => `word${index} `).join("");
}

/** An attempt of a model whose answer came in so many chunks. */
function message(seq: number, chunks: number): SessionEvent {
  const recorder = new StreamRecorder();
  for (let index = 0; index < chunks; index++) {
    recorder.add({ type: "text-delta", index: 0, text: `word${index} ` } as StreamChunk, index * 7);
  }
  return event(seq, "bench/note", { stream: recorder.records }, { ignorable: true });
}
