import { assertEquals } from "@std/assert";
import { withNames } from "../../../web/page/exact_text.tsx";

Deno.test("withNames() names what turns the order of reading around or has no shape", () => {
  assertEquals(
    withNames("al\u202Eice\u200B\u2066\uFEFF\u00A0\u0007\u00AD\u3164"),
    [
      "al⟨U+202E⟩ice⟨U+200B⟩⟨U+2066⟩⟨U+FEFF⟩⟨U+00A0⟩⟨U+0007⟩⟨U+00AD⟩⟨U+3164⟩",
    ].join(),
  );
});

Deno.test("withNames() names half a surrogate pair and tag characters, and leaves whole pairs alone", () => {
  assertEquals(withNames("a\uD800b\u{E0041}🙂"), "a⟨U+D800⟩b⟨U+E0041⟩🙂");
});

Deno.test("withNames() leaves letters of every script, spaces, tabs and newlines alone", () => {
  const text = "pay 10\tto Ålice,\nשלום, 支払う";
  assertEquals(withNames(text), text);
});
