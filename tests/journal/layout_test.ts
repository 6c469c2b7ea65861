import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  generationOf,
  idOfFolder,
  logName,
  logPath,
  projectFolder,
  sessionFolder,
  tornCopyName,
  tornCopyOf,
} from "../../src/journal/layout.ts";
import cases from "../fixtures/path-cases.json" with { type: "json" };

Deno.test("projectFolder() gives the folder the real writer gave, for every recorded working directory", () => {
  for (const { cwd, dir } of cases.cwd) {
    if (typeof dir === "string") assertEquals(projectFolder(cwd ?? undefined), dir, JSON.stringify(cwd));
    else assertThrows(() => projectFolder(cwd ?? undefined), RangeError);
  }
  assertEquals(projectFolder("/srv//my project/ünï~x:y"), "--srv-my~0020project-~00FCn~00EF~007Ex-y--");
});

Deno.test("sessionFolder() gives the folder the real writer gave, for every recorded id", () => {
  for (const { id, dir } of cases.id) {
    if (typeof dir === "string") assertEquals(sessionFolder(id), dir, JSON.stringify(id));
    else assertThrows(() => sessionFolder(id), RangeError);
  }
  assertEquals(sessionFolder("../weird ~id/é🐳"), "..~002Fweird~0020~007Eid~002F~00E9~D83D~DC33");
});

Deno.test("sessionFolder() never leaves its folder and gives each id its own", () => {
  const ids = fc.string({
    unit: fc.oneof(fc.constantFrom(..."./~\\-aA0é"), fc.string({ minLength: 1 })),
    minLength: 1,
  });
  fc.assert(
    fc.property(ids, (id) => {
      const folder = sessionFolder(id);
      assert(/^[A-Za-z0-9._~-]+$/.test(folder) && folder !== "." && folder !== "..", folder);
      assertStrictEquals(idOfFolder(folder), id);
    }),
    { seed: 1, numRuns: 500 },
  );
});

Deno.test("idOfFolder() refuses a name no id has", () => {
  for (const folder of ["", "a b", "~00", "~0061", "~00fc", ".", ".."]) assertStrictEquals(idOfFolder(folder), null);
});

Deno.test("generationOf() reads exactly the canonical names", () => {
  for (const version of [0, 1, 3, 12]) {
    for (const encoding of ["zstd", "none"] as const) {
      assertEquals(generationOf(logName({ version, encoding })), { version, encoding });
    }
  }
  const others = [
    "session.v0.jsonl",
    "session.V3.jsonl",
    "session.v03.jsonl",
    "session.v3.jsonl.zst",
    "session.jsonl.tmp",
  ];
  for (const name of [...others, "session.lock", "Session.jsonl", "session.v3.jsonl.zstd.0123456789ab.tmp"]) {
    assertStrictEquals(generationOf(name), null, name);
  }
});

Deno.test("logPath() puts project, session and version together", () => {
  assertEquals(logPath({ id: "a" }, "zstd"), "_no-cwd/a/session.v3.jsonl.zstd");
});

Deno.test("tornCopyOf() reads what tornCopyName() writes, and no other name", () => {
  const log = "p/s/session.v3.jsonl.zstd";
  const name = tornCopyName(log, 1234, "00ff00ff99");
  assertEquals(name, `${log}.torn-1234-00ff00ff`);
  assertEquals(tornCopyOf(log, name), { name, offsetBytes: 1234 });
  for (const other of [`${log}.torn-01-00ff00ff`, `${log}.torn-1-00FF00FF`, `${log}.torn-1-00ff`, `x${name}`, log]) {
    assertStrictEquals(tornCopyOf(log, other), null, other);
  }
});
