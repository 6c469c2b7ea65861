import { assertEquals } from "@std/assert";
import { serverToken, type TokenPlace } from "../../web/page/server_token.ts";
import { ownPath } from "../../web/worker/own_path.ts";
import { serverShell } from "../../web/worker/server_shell.ts";
import { bodyCall } from "../tool/tool_support.ts";

/** A tab at an address, whose storage may be closed. */
function tab(hash: string, kept: Map<string, string> | null = new Map()) {
  const addresses: string[] = [];
  const place: TokenPlace = {
    location: { hash, pathname: "/", search: "?bank=%2Fbank" },
    history: { replaceState: (_data, _unused, url) => void addresses.push(url) },
    get sessionStorage() {
      if (kept === null) throw new DOMException("denied", "SecurityError");
      return {
        getItem: (key: string) => kept.get(key) ?? null,
        setItem: (key: string, value: string) => void kept.set(key, value),
      };
    },
  };
  return { place, addresses, kept };
}

Deno.test("serverToken() takes the token out of the address and leaves the rest of it", () => {
  const only = tab("#token=abc%2Fd");
  assertEquals([serverToken(only.place), only.addresses], ["abc/d", ["/?bank=%2Fbank"]]);
  const beside = tab("#session=s1&token=abc");
  assertEquals([serverToken(beside.place), beside.addresses], ["abc", ["#session=s1"]]);
});

Deno.test("serverToken() gives a reload what the tab took, another tab nothing, and the newest when it comes again", () => {
  const { kept } = tab("");
  assertEquals(serverToken(tab("#token=first", kept).place), "first");
  const reloaded = tab("#session=s1", kept);
  assertEquals([serverToken(reloaded.place), reloaded.addresses], ["first", []]);
  assertEquals(serverToken(tab("#token=second", kept).place), "second");
  assertEquals(serverToken(tab("", kept).place), "second");
  assertEquals(serverToken(tab("").place), null);
});

Deno.test("serverToken() takes nothing that is none, and works where nothing can be kept", () => {
  for (const hash of ["#token=", `#token=${"x".repeat(2000)}`]) {
    const { place, addresses } = tab(hash);
    assertEquals([serverToken(place), addresses.length], [null, 1], hash.slice(0, 10));
  }
  assertEquals(serverToken(tab("#token=abc", null).place), "abc");
  assertEquals(serverToken(tab("", null).place), null);
});

Deno.test("ownPath() takes a path of the same origin, and nothing else", () => {
  const of = (query: string) => ownPath(`https://a.test/worker.js?${query}`, "sandbox");
  assertEquals(of("sandbox=/v1/sandbox/exec"), "/v1/sandbox/exec");
  for (const query of ["", "sandbox=//evil.test/x", "sandbox=https://evil.test", "sandbox=/%5Cevil.test/", "bank=/x"]) {
    assertEquals(of(query), null, query);
  }
});

Deno.test("serverShell() is there only with a path, waits for the posted token, and sends it in a header alone", async () => {
  const none = { addEventListener() {} };
  const unused = () => Promise.reject(new Error("nothing is asked"));
  assertEquals(serverShell("https://a.test/worker.js", none, unused), []);

  let post: (event: { readonly data: unknown }) => void = () => {};
  const sent: { readonly url: string; readonly authorization: string | null }[] = [];
  const [shell] = serverShell("https://a.test/worker.js?sandbox=/v1/sandbox/exec", {
    addEventListener: (_type, listener) => void (post = listener),
  }, (input, init) => {
    sent.push({ url: String(input), authorization: new Headers(init?.headers).get("authorization") });
    return Promise.resolve(Response.json({ status: 401, code: "UNAUTHORIZED", detail: "no" }, { status: 401 }));
  });
  const ran = Promise.resolve(shell!.execute({ command: "ls" }, bodyCall())).catch((error: Error) => error.message);
  for (const data of [null, "x", { kind: "other", token: "x" }, { kind: "server-token" }]) post({ data });
  assertEquals(sent, []);
  post({ data: { kind: "server-token", token: "the token" } });
  post({ data: { kind: "server-token", token: "another" } });
  assertEquals(await ran, "the command did not run: no");
  assertEquals(sent, [{ url: "https://a.test/v1/sandbox/exec", authorization: "Bearer the token" }]);
});
