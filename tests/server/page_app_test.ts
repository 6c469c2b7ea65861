import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createPageApp, PAGE_HEADERS, PAGE_POLICY } from "../../src/server/page_app.ts";
import { repositoryDir } from "../support/paths.ts";

function appOf(files: Readonly<Record<string, string>>) {
  const asked: string[] = [];
  const app = createPageApp({
    readFile: (name) => {
      asked.push(name);
      return Promise.resolve(Object.hasOwn(files, name) ? new TextEncoder().encode(files[name]) : null);
    },
  });
  return { app, asked };
}

Deno.test("createPageApp() serves the build with its types, and every answer carries the policy", async () => {
  const { app } = appOf({ "index.html": "<!doctype html>", "page.js": "1", "style.css": "a{}", "zstd.wasm": "x" });
  const types: Record<string, string> = {
    "/": "text/html; charset=utf-8",
    "/index.html": "text/html; charset=utf-8",
    "/page.js": "text/javascript; charset=utf-8",
    "/style.css": "text/css; charset=utf-8",
    "/zstd.wasm": "application/wasm",
  };
  for (const [path, type] of Object.entries(types)) {
    const response = await app.request(path);
    assertEquals([response.status, response.headers.get("content-type")], [200, type], path);
    for (const [name, value] of Object.entries(PAGE_HEADERS)) assertEquals(response.headers.get(name), value, path);
    await response.body?.cancel();
  }
  const missing = await app.request("/missing.js");
  assertEquals([missing.status, missing.headers.get("content-security-policy")], [404, PAGE_POLICY]);
});

Deno.test("createPageApp() asks for nothing outside of the build, hidden, or of another type", async () => {
  const { app, asked } = appOf({});
  for (
    const path of [
      "/../deno.json",
      "/..%2fdeno.js",
      "/%2e%2e/deno.js",
      "/a/../../x.js",
      "/.env.js",
      "/a/.hidden.js",
      "//x.js",
      "/a\\b.js",
      "/page.ts",
      "/deno.json",
      "/page.js%00.js",
      "/constructor",
    ]
  ) {
    const response = await app.request(`http://localhost${path}`);
    assertEquals(response.status, 404, path);
    await response.body?.cancel();
  }
  assertEquals(asked.filter((name) => name.includes("..") || name.includes("%") || name.startsWith(".")), []);
});

Deno.test("createPageApp() answers GET and HEAD alone", async () => {
  const { app } = appOf({ "index.html": "<!doctype html>" });
  const head = await app.request("/", { method: "HEAD" });
  assertEquals([head.status, await head.text()], [200, ""]);
  assertEquals((await app.request("/", { method: "POST" })).status, 404);
});

Deno.test("the policy forbids inline scripts and styles, and index.html says the same for static hosts", async () => {
  assert(!PAGE_POLICY.includes("unsafe-inline") && !PAGE_POLICY.includes("'unsafe-eval'"));
  const html = await Deno.readTextFile(`${repositoryDir}/web/index.html`);
  const inPage = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(html)?.[1];
  // A browser ignores frame-ancestors outside of a header.
  assertEquals(inPage, PAGE_POLICY.replace("frame-ancestors 'none'; ", ""));
  assert(!/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/i.test(html), "something is inline");
  assertStringIncludes(html, '<script type="module" src="page.js">');
});
