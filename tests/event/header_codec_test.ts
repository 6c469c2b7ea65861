import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { CorruptLogError, hasCode, UnsupportedFormatError } from "../../src/errors.ts";
import { checkNewHeader, encodeHeader, FORMAT_VERSION, parseHeader, type SessionHeader } from "../../src/event/mod.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { text, time } from "./arbitraries.ts";

const smallest: SessionHeader = {
  type: "session",
  version: 3,
  id: "a",
  createdAt: 0,
  isSeeded: false,
  delegationDepth: 0,
};

const whole: SessionHeader = {
  ...smallest,
  cwd: "/srv/u",
  parentSession: "",
  origin: "subagent",
  agentPreset: "standard",
};

/** Text of the smallest header with members replaced; undefined takes one away. */
function line(change: Record<string, unknown>): string {
  return JSON.stringify({ ...smallest, ...change });
}

Deno.test("parseHeader() reads the smallest header and the whole one", () => {
  assertEquals(parseHeader(JSON.stringify(smallest)), smallest);
  assertEquals(parseHeader(JSON.stringify(whole)), whole);
});

Deno.test("parseHeader() refuses every malformed header with one clear error", () => {
  const cases: [string, string][] = [
    ["", "found an empty line"],
    ["  ", "found an empty line"],
    ["{", "found text that is not valid JSON"],
    ["\ufeff" + JSON.stringify(smallest), "found text that is not valid JSON"],
    [JSON.stringify(smallest) + "{}", "found text that is not valid JSON"],
    ["null", "found null, which is no session header"],
    ["[]", "found an array of 0, which is no session header"],
    ["3", "found 3, which is no session header"],
    ['"session"', 'found "session", which is no session header'],
    ["{}", "found version = nothing, expected a number, so this is no session header"],
    [line({ version: "3" }), 'found version = "3", expected a number, so this is no session header'],
    [line({ version: null }), "found version = null, expected a number, so this is no session header"],
    [line({ sandboxMode: "x" }), 'found the retired field "sandboxMode"'],
    [line({ approvalPolicy: null }), 'found the retired field "approvalPolicy"'],
    [line({ seedLength: 0 }), 'found the unknown field "seedLength"'],
    [line({ extra: 1 }), 'found the unknown field "extra"'],
    ['{"__proto__":1,' + JSON.stringify(smallest).slice(1), 'found the unknown field "__proto__"'],
    [line({ type: "log" }), 'found type = "log", expected "session"'],
    [line({ type: undefined }), 'found type = nothing, expected "session"'],
    [line({ id: undefined }), "found id = nothing, expected a non-empty string"],
    [line({ id: "" }), 'found id = "", expected a non-empty string'],
    [line({ id: 7 }), "found id = 7, expected a non-empty string"],
    [line({ createdAt: undefined }), "found createdAt = nothing, expected a count of milliseconds"],
    [line({ createdAt: -1 }), "found createdAt = -1, expected a count of milliseconds"],
    [line({ createdAt: 1.5 }), "found createdAt = 1.5, expected a count of milliseconds"],
    [line({ createdAt: 2 ** 53 }), "found createdAt = 9007199254740992, expected a count of milliseconds"],
    [line({}).replace('"createdAt":0', '"createdAt":-0'), "found createdAt = -0, expected a count of milliseconds"],
    [line({}).replace('"createdAt":0', '"createdAt":1e999'), "found createdAt = Infinity"],
    [line({ cwd: "rel/path" }), 'found cwd = "rel/path", expected an absolute path'],
    [line({ cwd: "" }), 'found cwd = "", expected an absolute path'],
    [line({ cwd: "C:rel" }), 'found cwd = "C:rel", expected an absolute path'],
    [line({ cwd: null }), "found cwd = null, expected an absolute path"],
    [line({ parentSession: 1 }), "found parentSession = 1, expected a string"],
    [line({ parentSession: null }), "found parentSession = null, expected a string"],
    [line({ isSeeded: undefined }), "found isSeeded = nothing, expected a boolean"],
    [line({ isSeeded: 1 }), "found isSeeded = 1, expected a boolean"],
    [line({ origin: "user" }), 'found origin = "user", expected "subagent"'],
    [line({ delegationDepth: undefined }), "found delegationDepth = nothing, expected a count"],
    [line({ delegationDepth: -1 }), "found delegationDepth = -1, expected a count"],
    [line({ agentPreset: {} }), "found agentPreset = an object, expected a string"],
  ];
  for (const [text, message] of cases) {
    const error = assertThrows(() => parseHeader(text), CorruptLogError, `Cannot read header: ${message}`);
    assert(hasCode(error, "CORRUPT_LOG"));
  }
});

Deno.test("parseHeader() names the direction of another version before it looks at any shape", () => {
  const cases: [number, string][] = [
    [4, "written by a newer program; upgrade to open it"],
    [1e9, "written by a newer program; upgrade to open it"],
    [3.5, "written by a newer program; upgrade to open it"],
    [2, "an older version that this build does not read"],
    [0, "an older version that this build does not read"],
    [-1, "an older version that this build does not read"],
  ];
  for (const [version, direction] of cases) {
    const error = assertThrows(
      () => parseHeader(JSON.stringify({ version, sandboxMode: "x", anything: [] })),
      UnsupportedFormatError,
      `Cannot read header: found format version ${version}, ${direction}`,
    );
    assertEquals([error.code, error.version], ["UNSUPPORTED_FORMAT", version]);
  }
});

Deno.test("parseHeader() tolerates a carriage return, and paths of either kind of system", () => {
  assertEquals(parseHeader(JSON.stringify(smallest) + "\r"), smallest);
  assertStrictEquals(parseHeader(line({}).replace('"version":3', '"version":3.0')).version, FORMAT_VERSION);
  for (const cwd of ["/", "C:\\data", "c:/data", "\\\\server\\share", "/srv//my project/ünï~x:y"]) {
    assertStrictEquals(parseHeader(line({ cwd })).cwd, cwd);
  }
});

Deno.test("encodeHeader() writes one line in the format's key order, whatever order it is given", () => {
  const shuffled = Object.fromEntries(Object.entries(whole).toReversed()) as unknown as SessionHeader;
  assertStrictEquals(
    encodeHeader(shuffled),
    '{"type":"session","version":3,"id":"a","createdAt":0,"cwd":"/srv/u","parentSession":"","isSeeded":false,' +
      '"origin":"subagent","delegationDepth":0,"agentPreset":"standard"}',
  );
  assertStrictEquals(
    encodeHeader({ ...smallest, cwd: undefined }),
    '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}',
  );
});

Deno.test("parseHeader() undoes encodeHeader(), for any header that checkNewHeader() accepts", () => {
  const header = fc.record(
    {
      type: fc.constant("session" as const),
      version: fc.constant(3),
      id: text.filter((id) => id !== ""),
      createdAt: time.map((value) => Math.abs(value)),
      cwd: text.map((path) => `/${path}`),
      parentSession: text,
      isSeeded: fc.boolean(),
      origin: fc.constant("subagent" as const),
      delegationDepth: fc.nat(),
      agentPreset: text,
    },
    { requiredKeys: ["type", "version", "id", "createdAt", "isSeeded", "delegationDepth"] },
  );
  fc.assert(
    fc.property(header, (value) => {
      checkNewHeader(value);
      const encoded = encodeHeader(value);
      assert(!encoded.includes("\n"));
      assertEquals(parseHeader(encoded), { ...value });
    }),
    { seed: 4, numRuns: 300 },
  );
});

Deno.test("checkNewHeader() refuses with a TypeError what parseHeader() would refuse", () => {
  const cases: [unknown, string][] = [
    [null, "found a header with null"],
    [{ ...smallest, version: 2 }, "version = 2, expected 3"],
    [{ ...smallest, id: "" }, 'id = "", expected a non-empty string'],
    [{ ...smallest, cwd: "here" }, 'cwd = "here", expected an absolute path'],
    [{ ...smallest, createdAt: Date }, "createdAt = a function, expected a count of milliseconds"],
    [{ ...smallest, extra: 1 }, 'the unknown field "extra"'],
    [{ ...smallest, isSeeded: undefined }, "isSeeded = nothing, expected a boolean"],
  ];
  for (const [header, message] of cases) {
    assertThrows(() => checkNewHeader(header as SessionHeader), TypeError, message);
  }
  checkNewHeader({ ...smallest, cwd: undefined });
});

Deno.test("parseHeader() and encodeHeader() give the bytes of the version-3 files back", () => {
  const files = [
    "v3/preview-follow-up-builder.session.v3.jsonl",
    "derived/migratable/session.v3.jsonl",
  ];
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(files.length, "headers of version-3 files");
  for (const file of files) {
    const header = firstLine(`${folder}/dsh/${file}`);
    assertStrictEquals(encodeHeader(parseHeader(header)), header);
  }
});

Deno.test("parseHeader() gives older files their version back", () => {
  const files: [string, number][] = [
    ["derived/migratable/session.jsonl", 0],
    ["derived/migratable/session.v1.jsonl", 1],
    ["derived/migratable/session.v2.jsonl", 2],
  ];
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(files.length, "headers of older files");
  for (const [file, version] of files) {
    const header = firstLine(`${folder}/dsh/${file}`);
    const error = assertThrows(() => parseHeader(header), UnsupportedFormatError);
    assertStrictEquals(error.version, version);
  }
});

function firstLine(path: string): string {
  return Deno.readTextFileSync(path).split("\n")[0] as string;
}
