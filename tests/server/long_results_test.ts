import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/event/mod.ts";
import { readZip, writeZip, type ZipMember } from "../../src/journal/mod.ts";
import { IMPORT_MEMBERS_MAX, IMPORT_UNPACKED_BYTES_MAX } from "../../src/server/limits.ts";
import { ANSWERS } from "../../src/server/schemas.ts";
import { compileSchema, defineTool } from "../../src/tool/mod.ts";
import { deflatedZip } from "../support/deflated_zip.ts";
import { EventStream, scriptedModel, startServer, type TestServer, TOKEN, tokenRoot } from "./server_support.ts";

const TEXTS = ["first 漢 ".repeat(500), "second ".repeat(500)];

/** A server with a session "a" that has two long results. */
async function serverWithResults(): Promise<TestServer> {
  let calls = 0;
  const look = defineTool({
    name: "look",
    description: "",
    parameters: {},
    effect: "none",
    execute: () => TEXTS[calls++ % 2]!,
  });
  const steps = [1, 2].map((n) => [{ call: { id: `c${n}`, name: "look", arguments: {} } }]);
  const model = scriptedModel([...steps, [{ text: "done" }]]);
  const server = await startServer({ model, tools: [look], spill: { maxInlineBytes: 500 } });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  await using stream = await EventStream.open(server, "a");
  await server.json("/v1/sessions/a/inputs", { body: { text: "go" }, status: 202 });
  await stream.event("turn/end");
  return server;
}

async function exported(
  server: TestServer,
  query = "",
): Promise<{ response: Response; members: readonly ZipMember[] }> {
  const response = await server.ask(`/v1/sessions/a/export${query}`);
  assertEquals([response.status, response.headers.get("content-type")], [200, "application/zip"]);
  assertEquals(response.headers.get("content-disposition"), 'attachment; filename="a.zip"');
  return { response, members: await readZip("a.zip", new Uint8Array(await response.arrayBuffer())) };
}

async function importZip(server: TestServer, zip: Uint8Array<ArrayBuffer>, id: string, type = "application/zip") {
  const response = await fetch(`${server.origin}/v1/sessions/import?id=${id}`, {
    method: "POST",
    body: zip,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": type },
  });
  return { status: response.status, document: await response.json() };
}

/** Names and texts of what an archive holds, whatever the session is called in it. */
function contents(members: readonly ZipMember[], id: string): readonly (readonly [string, string])[] {
  return members.map(({ name, bytes }) =>
    [name, new TextDecoder().decode(bytes).replace(`"id":"${id}"`, '"id":"a"')] as const
  );
}

Deno.test("export of a session with long results is an archive of both, and import takes it back, also packed again", async () => {
  await using server = await serverWithResults();
  const { members } = await exported(server);
  const [log, ...blobs] = contents(members, "a");
  assertEquals(log![0], "session.v3.jsonl");
  assertEquals(blobs.map(([, text]) => text), TEXTS);
  const zstd = await exported(server, "?to=zstd");
  assertEquals(zstd.members.map(({ name }) => name), ["session.v3.jsonl.zstd", ...blobs.map(([name]) => name)]);

  const archives = [["b", writeZip(members)], ["c", writeZip(zstd.members)], [
    "d",
    await deflatedZip(members),
  ]] as const;
  for (const [id, zip] of archives) {
    const { status, document } = await importZip(server, zip, id);
    assertEquals([status, document.id, document.spilled], [201, id, { count: 2, missing: [], damaged: [] }]);
    const { check } = compileSchema(ANSWERS["Imported"] as JsonObject, "Imported");
    assertEquals((await check(document)).ok, true);
    const again = await server.ask(`/v1/sessions/${id}/export`);
    const back = await readZip("x.zip", new Uint8Array(await again.arrayBuffer()));
    assertEquals(contents(back, id), contents(members, "a"));
  }
});

Deno.test("a bare log whose long results did not come is taken in and says so; a lost result is said in the export", async () => {
  await using server = await serverWithResults();
  const { members } = await exported(server);
  const { status, document } = await importZip(server, members[0]!.bytes, "b", "application/x-ndjson");
  assertEquals([status, document.spilled.count, document.spilled.missing.length], [201, 2, 2]);
  const fits = await compileSchema(ANSWERS["Imported"] as JsonObject, "Imported").check(document);
  assert(fits.ok, JSON.stringify(fits));
  const one = await importZip(server, writeZip(members.slice(0, 2)), "c");
  assertEquals([one.status, one.document.spilled.missing.length], [201, 1]);

  Deno.removeSync(`${await tokenRoot(server.root)}/_no-cwd/a/${members[1]!.name}`);
  const { response, members: left } = await exported(server);
  assertEquals([response.headers.get("holdfast-missing-results"), left.length], ["1", 2]);
});

Deno.test("import refuses what a hostile archive brings, writes nothing of it, and goes on", async () => {
  await using server = await serverWithResults();
  const { members } = await exported(server);
  const [log, blob] = members as [ZipMember, ZipMember, ZipMember];
  const zip = writeZip(members);
  const damaged = zip.slice();
  damaged[200]! ^= 0xff;
  const zeros = new Uint8Array(1024 * 1024);
  const many = Array.from({ length: IMPORT_MEMBERS_MAX }, (_, n) => ({ name: `${n}`, bytes: new Uint8Array(0) }));
  const claims = Math.ceil(IMPORT_UNPACKED_BYTES_MAX / 2 ** 30) * 2 ** 30;
  const refused: readonly (readonly [string, Uint8Array<ArrayBuffer>, number, string])[] = [
    ["cut", zip.slice(0, -1), 422, "INVALID_REQUEST"],
    ["damaged", damaged, 422, "INVALID_REQUEST"],
    ["no log", writeZip([blob]), 422, "INVALID_REQUEST"],
    ["two logs", writeZip([log, { ...log, name: "b.jsonl" }]), 422, "INVALID_REQUEST"],
    ["a log outside", writeZip([{ ...log, name: "../session.v3.jsonl" }]), 422, "INVALID_REQUEST"],
    ["another blob", writeZip([log, { ...blob, bytes: log.bytes }]), 422, "INVALID_REQUEST"],
    ["another method", await deflatedZip([{ ...log, method: 14 }]), 422, "INVALID_REQUEST"],
    ["encrypted", await deflatedZip([{ ...log, flags: 1 }]), 422, "INVALID_REQUEST"],
    ["members", writeZip([log, ...many]), 413, "TOO_LARGE"],
    ["a claim", await deflatedZip([log, { name: "x", bytes: zeros, claimedBytes: claims }]), 413, "TOO_LARGE"],
    ["a lie", await deflatedZip([log, { ...blob, bytes: zeros, claimedBytes: 10 }]), 422, "INVALID_REQUEST"],
  ];
  for (const [what, bytes, status, code] of refused) {
    const found = await importZip(server, bytes, "b");
    assertEquals([found.status, found.document.code], [status, code], `${what}: ${JSON.stringify(found.document)}`);
  }
  const names = ["../../../out", "/tmp/out", `../blobs/${"0".repeat(64)}`, "blobs/../out", "C:\\out"];
  const strange = writeZip([...members, ...names.map((name) => ({ name, bytes: blob.bytes }))]);
  assertEquals((await importZip(server, strange, "b")).status, 201);
  const folder = `${await tokenRoot(server.root)}/_no-cwd/b`;
  const files = [...Deno.readDirSync(folder), ...Deno.readDirSync(`${folder}/blobs`)].map(({ name }) => name);
  const kept = ["blobs", "session.lock", "session.v3.jsonl.zstd", ...members.slice(1).map(({ name }) => name.slice(6))];
  assertEquals(files.sort(), kept.sort());
  assertEquals([...Deno.readDirSync(`${server.root}/imports`)], []);
  const { sessions } = await server.json("/v1/sessions");
  assertEquals(sessions.map(({ id }: { id: string }) => id), ["a", "b"]);
});

Deno.test("compact replaces the conversation by a summary, says null when there is nothing to, and 409 while a turn runs", async () => {
  const started = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  const wait = defineTool({
    name: "wait",
    description: "",
    parameters: {},
    effect: "none",
    execute: async () => {
      started.resolve();
      await open.promise;
      return "waited";
    },
  });
  const long = "word ".repeat(2000);
  const model = scriptedModel([
    [{ text: long }],
    [{ text: "second" }],
    [{ text: "It was about words." }],
    [{ call: { id: "c1", name: "wait", arguments: {} } }],
    [{ text: "done" }],
  ]);
  await using server = await startServer({ model, tools: [wait] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  assertEquals(await server.json("/v1/sessions/a/compact", { body: {} }), { compacted: null });
  assertEquals((await server.json("/v1/sessions/a/compact", { body: { x: 1 }, status: 400 })).code, "INVALID_REQUEST");
  await using stream = await EventStream.open(server, "a");
  for (const text of ["first", "next"]) {
    await server.json("/v1/sessions/a/inputs", { body: { text }, status: 202 });
    await stream.event("turn/end");
  }
  const answer = await server.json("/v1/sessions/a/compact", { body: {} });
  const { check } = compileSchema(ANSWERS["Compaction"] as JsonObject, "Compaction");
  assertEquals((await check(answer)).ok, true);
  assert(answer.compacted.checkpointTokens < answer.compacted.shadowedTokens, JSON.stringify(answer));
  const { events } = await server.json("/v1/sessions/a/events");
  assertEquals(events.at(-1).type, "compaction/end");
  assertEquals(events[answer.compacted.summarySeq].type, "compaction/summary");

  await server.json("/v1/sessions/a/inputs", { body: { text: "wait" }, status: 202 });
  await started.promise;
  const busy = await server.json("/v1/sessions/a/compact", { body: {}, status: 409 });
  assertEquals(busy.code, "SESSION_RUNNING");
  open.resolve();
  await stream.event("turn/end");
  // The script of the model is over: its summary fails, and the answer says so.
  const failed = await server.json("/v1/sessions/a/compact", { body: {}, status: 502 });
  assertEquals([failed.code, failed.reason], ["COMPACTION_FAILED", "summary"]);
  assertStringIncludes(failed.detail, "there is no summary");
});
