import { assertEquals } from "@std/assert";
import { encodeLegacyHeader, migrateLegacy, parseLegacyHeader } from "../../../src/journal/legacy/mod.ts";
import { refusalOf } from "./support.ts";

const V0 = { type: "session", version: 0, id: "a", createdAt: 5, delegationDepth: 0 };
const V2 = { ...V0, version: 2, isSeeded: true };
const parse = (record: unknown) => parseLegacyHeader(JSON.stringify(record));

Deno.test("parseLegacyHeader() reads what each version means by a header, and writes it back", () => {
  const full = { ...V0, cwd: "/w", parentSession: "p", seedLength: 0, origin: "subagent", agentPreset: "code" };
  for (const version of [0, 1] as const) {
    const header = parse({ ...full, version });
    assertEquals([header.version, header.isSeeded, header.seedLength], [version, true, 0]);
    assertEquals(parse(JSON.parse(encodeLegacyHeader(header))), header);
    assertEquals(parse({ ...V0, version }).isSeeded, false);
  }
  assertEquals(encodeLegacyHeader(parse(V2)).includes('"isSeeded":true'), true);
  assertEquals(parse({ ...V2, isSeeded: false }).isSeeded, false);
});

Deno.test("parseLegacyHeader() refuses what is no header as damage, and other versions as unsupported", () => {
  const refused: [unknown, string][] = [
    [[], "CORRUPT_LOG"],
    [null, "CORRUPT_LOG"],
    [{ ...V0, version: "0" }, "CORRUPT_LOG"],
    [{ ...V0, version: 3 }, "UNSUPPORTED_FORMAT"],
    [{ ...V0, version: 0.5 }, "UNSUPPORTED_FORMAT"],
    [{ ...V0, type: "x" }, "CORRUPT_LOG"],
    [{ ...V0, id: "" }, "CORRUPT_LOG"],
    [{ ...V0, createdAt: -1 }, "CORRUPT_LOG"],
    [{ ...V0, createdAt: 1.5 }, "CORRUPT_LOG"],
    [{ ...V0, delegationDepth: undefined }, "CORRUPT_LOG"],
    [{ ...V0, origin: "x" }, "CORRUPT_LOG"],
    [{ ...V0, cwd: 1 }, "CORRUPT_LOG"],
    [{ ...V0, version: 1, cwd: "w" }, "CORRUPT_LOG"],
    [{ ...V0, seedLength: -1 }, "CORRUPT_LOG"],
    [{ ...V0, sandboxMode: "x" }, "CORRUPT_LOG"],
    [{ ...V0, approvalPolicy: "ask" }, "CORRUPT_LOG"],
    [{ ...V0, version: 1, extra: 1 }, "CORRUPT_LOG"],
    [{ ...V0, version: 1, isSeeded: false }, "CORRUPT_LOG"],
    [{ ...V2, isSeeded: undefined }, "CORRUPT_LOG"],
    [{ ...V2, seedLength: 1 }, "CORRUPT_LOG"],
  ];
  for (const [record, code] of refused) assertEquals(refusalOf(() => parse(record))[0], code, JSON.stringify(record));
  for (const line of ["", "{", "\ufeff" + JSON.stringify(V0)]) {
    assertEquals(refusalOf(() => parseLegacyHeader(line))[0], "CORRUPT_LOG", line);
  }
});

Deno.test("migrateLegacy() refuses what a header of version 0 may hold and nothing later", () => {
  assertEquals(parse({ ...V0, extra: 1 }).strangers, ["extra"]);
  assertEquals(refusalOf(() => migrateLegacy(parse({ ...V0, extra: 1 })))[0], "UNSUPPORTED_FORMAT");
  assertEquals(refusalOf(() => migrateLegacy(parse({ ...V0, cwd: "w" })))[0], "CORRUPT_LOG");
});

Deno.test("migrateLegacy() gives the header of version 3 at once", () => {
  const { header } = migrateLegacy(parse({ ...V0, cwd: "/w", seedLength: 2, agentPreset: "code" }));
  assertEquals(
    JSON.stringify(header),
    JSON.stringify({
      ...{ type: "session", version: 3, id: "a", createdAt: 5, cwd: "/w", isSeeded: true, delegationDepth: 0 },
      agentPreset: "ptc",
    }),
  );
});
