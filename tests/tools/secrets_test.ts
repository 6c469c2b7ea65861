import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { withoutSecrets } from "../../src/tools/secrets.ts";

const SECRET = "Pa/s+w=rd&<\"x'> é?\\n%25";

const clean = (text: string, secret = SECRET) => withoutSecrets(text, new Map([["BANK", secret]]));
const hex = (text: string) => Array.from(text, (char) => char.charCodeAt(0).toString(16).padStart(2, "0"));
const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const base64Url = (bytes: Uint8Array) => bytes.toBase64({ alphabet: "base64url", omitPadding: true });

/** Ways to write a text that are seen in the wild. */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  "upper case": (text) => text.replace(/[a-z]/g, (char) => char.toUpperCase()),
  "lower case": (text) => text.replace(/[A-Z]/g, (char) => char.toLowerCase()),
  "percent": encodeURIComponent,
  "percent, lower case": (text) => encodeURIComponent(text).replace(/%../g, (escape) => escape.toLowerCase()),
  "percent, some": encodeURI,
  "percent, every byte": (text) => hex(text).map((digits) => `%${digits}`).join(""),
  "form": (text) => new URLSearchParams({ text }).toString().slice(5),
  "JSON": (text) => JSON.stringify(text).slice(1, -1),
  "JSON, ASCII only": (text) => JSON.stringify(text).slice(1, -1).replace(/[^ -~]/g, (char) => `\\u00${hex(char)[0]}`),
  "JSON, as PHP": (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/"),
  "JSON, every character": (text) => hex(text).map((digits) => `\\u00${digits.toUpperCase()}`).join(""),
  "HTML": (text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;"),
  "HTML, decimal": (text) => Array.from(text, (char) => `&#${char.charCodeAt(0)};`).join(""),
  "HTML, hexadecimal": (text) => hex(text).map((digits) => `&#x${digits};`).join(""),
  "hex": (text) => hex(text).join(""),
  "hex, spaced": (text) => hex(text).join(" ").toUpperCase(),
  "JSON in JSON": (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  "percent of percent": (text) => encodeURIComponent(encodeURIComponent(text)),
  "HTML of percent": (text) => encodeURIComponent(text).replaceAll("%", "&#37;"),
};

Deno.test("withoutSecrets() replaces a secret in every usual encoding, and nothing around it", () => {
  for (const [name, encode] of Object.entries(ENCODINGS)) {
    assertEquals(clean(`before ${encode(SECRET)}, after`), "before $secret:BANK, after", name);
    assertEquals(clean(`{"a":"${encode(SECRET)}"}`), '{"a":"$secret:BANK"}', name);
  }
});

Deno.test("withoutSecrets() finds base64 at every alignment, in both alphabets, wrapped and escaped", () => {
  const secret = "s3cr3t>>>value???~~";
  for (const before of ["", "x", "xy", "xyz"]) {
    for (const after of ["", "x", "xy"]) {
      const whole = latin1(`${before}${secret}${after}`);
      const plain = whole.toBase64();
      const wrapped = plain.replace(/.{10}/g, "$&\n");
      for (const text of [plain, base64Url(whole), wrapped, encodeURIComponent(plain), JSON.stringify(wrapped)]) {
        const found = clean(`"${text}"`, secret);
        assertEquals(found.split("$secret:BANK").length, 2, `${text} became ${found}`);
        // What is left holds no whole group of the secret: a few characters shared with what stands around it.
        assert(found.replace("$secret:BANK", "").replace(/\\n|[\s"=]|%3D/g, "").length <= 6, `${text} became ${found}`);
      }
    }
  }
});

Deno.test("withoutSecrets() finds any secret of header characters, whatever stands around it", () => {
  const characters = fc.integer({ min: 0x21, max: 0xff }).filter((code) => code < 0x7f || code > 0xa0);
  const text = fc.array(characters.map((code) => String.fromCharCode(code)), { minLength: 5, maxLength: 40 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.constantFrom(...Object.values(ENCODINGS)), fc.nat(2), (secret, encode, before) => {
      assertEquals(clean(`(${encode(secret)})`, secret).includes("$secret:BANK"), true);
      const packed = latin1("-".repeat(before) + secret).toBase64();
      assertEquals(clean(packed, secret).includes("$secret:BANK"), true);
    }),
    { seed: 1, numRuns: 500 },
  );
});

Deno.test("withoutSecrets() leaves other texts alone, and tells several secrets apart", () => {
  const text = '{"a":"50%25 \\u0041 &amp; c2VjcmV0 736563 a+b"}\n'.repeat(20);
  assertEquals(clean(text), text);
  assertEquals(withoutSecrets(text, new Map()), text);
  const secrets = new Map([["A", "alpha-1"], ["B", "beta-2"], ["LONG", "beta-2-and-more"]]);
  assertEquals(withoutSecrets("alpha-1,BETA-2,beta-2-and-more", secrets), "$secret:A,$secret:B,$secret:LONG");
  // A short one is replaced as it stands, and not looked for in base64, where it would be everywhere.
  assertEquals(clean("abc YWJj", "abc"), "$secret:BANK YWJj");
});

Deno.test("withoutSecrets() takes large answers made to slow it down", () => {
  const sizeBytes = 256 * 1024;
  const secret = "k".repeat(2000) + "!";
  for (const piece of ["\\", "%", "%25", "+", "&#", "k", "\\u006b", "&amp;", "a\n", "0", "%2525\\\\&amp;amp;"]) {
    const text = piece.repeat(sizeBytes / piece.length);
    assertEquals(clean(text, secret), text);
  }
});
