import { assert, assertEquals } from "@std/assert";
import {
  ABSENT_TEXT,
  HAPPENED_TEXT,
  NOT_DISPATCHED_TEXT,
  NOT_STARTED_ERROR,
  NOT_STARTED_TEXT,
  OUTCOME_UNKNOWN_ERROR,
  OUTCOME_UNKNOWN_TEXT,
} from "../../src/event/mod.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";

Deno.test("the format's closers equal what the original loader appended", () => {
  const cases = [
    ["crash_call_not_started", NOT_STARTED_TEXT, NOT_STARTED_ERROR],
    ["crash_call_unknown", OUTCOME_UNKNOWN_TEXT, OUTCOME_UNKNOWN_ERROR],
  ] as const;
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(cases.length, "closer texts");
  for (const [name, text, error] of cases) {
    const expected = JSON.parse(Deno.readTextFileSync(`${folder}/dsh/v0/zstd/${name}/expected.json`));
    const closer = expected.load.ok.events.find((event: { type: string }) => event.type === "tool/result");
    assertEquals(closer.data.message.content[0].content, [{ type: "text", text }]);
    assertEquals(closer.data.error, { ...error });
  }
});

Deno.test("the closers' texts are those that logs already hold", async () => {
  // A changed text makes other readers refuse our repairs, and makes old repairs look like results.
  const digests = await Promise.all([NOT_STARTED_TEXT, OUTCOME_UNKNOWN_TEXT].map(sha256));
  assertEquals(digests, [
    "613f8e88c4324029a758e388a77c9082e93d36d39ad23d5f76c5529fe7b0b42f",
    "5655d1cb75343f7b6f034300ccd4cea6f70c07d430825b4575fa03890344bf52",
  ]);
});

Deno.test("our own texts differ from each other and say what to do", () => {
  const texts = [NOT_DISPATCHED_TEXT, HAPPENED_TEXT, ABSENT_TEXT, NOT_STARTED_TEXT, OUTCOME_UNKNOWN_TEXT];
  assertEquals(new Set(texts).size, texts.length);
  assert(HAPPENED_TEXT.includes("Do not call it again"));
  for (const text of [NOT_DISPATCHED_TEXT, ABSENT_TEXT]) assert(text.includes("Call it again if it is still needed"));
});

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
