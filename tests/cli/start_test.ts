import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { PAGE_POLICY } from "../../src/server/page_app.ts";
import { repositoryDir } from "../support/paths.ts";

function start(...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", "--no-config", `${repositoryDir}/src/cli/start.ts`, "--no-open", ...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Reads until the address is there; what follows stays unread. */
async function addressOf(server: Deno.ChildProcess): Promise<string> {
  let text = "";
  const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`it ended: ${text}${await new Response(server.stderr).text()}`);
    text += value;
  }
  reader.releaseLock();
  assertMatch(text, /^Holdfast: http:\/\/127\.0\.0\.1:\d+\/\n$/);
  return text.trim().split(" ")[1]!;
}

Deno.test("start serves the page on this machine, says where, and ends cleanly on SIGINT", async () => {
  const server = start("--port", "0");
  const stderr = new Response(server.stderr).text();
  const url = await addressOf(server);
  const page = await fetch(url);
  assertEquals([page.status, page.headers.get("content-security-policy")], [200, PAGE_POLICY]);
  const html = await page.text();
  const names = [...html.matchAll(/(?:src|href)="([\w.]+)"/g)].map(([, name]) => name!);
  assertEquals(names, ["icon.svg", "style.css", "page.js"]);
  for (const name of [...names, "worker.js", "lab.html", "lab.css", "lab.js"]) {
    const file = await fetch(`${url}${name}`);
    assertEquals([file.status, (await file.bytes()).length > 100], [200, true], name);
  }
  // A second one with this port says so; it does not take another address, where the browser has other sessions.
  const second = await start("--port", new URL(url).port).output();
  assertEquals(second.code, 1);
  assertStringIncludes(
    new TextDecoder().decode(second.stderr),
    `Cannot listen on port ${new URL(url).port}: it is taken`,
  );

  server.kill("SIGINT");
  const { code } = await server.status;
  assertEquals([code, await stderr], [
    0,
    "Ctrl-C ends it. The agent in this terminal instead: deno task holdfast run --model demo\n",
  ]);
  const error = await fetch(url).then(() => null, (error) => error);
  assert(error instanceof TypeError, "it still answers");
});

Deno.test("start refuses what it does not know, and says how the agent runs in a terminal", async () => {
  for (const args of [["hello"], ["--bogus"], ["--port", "99999"], ["--port", "x"], ["--port="]]) {
    const { code, stdout, stderr } = await start(...args).output();
    assertEquals([code, new TextDecoder().decode(stdout)], [2, ""], args.join(" "));
    assertStringIncludes(new TextDecoder().decode(stderr), "deno task holdfast run --model demo");
  }
  const help = await start("--help").output();
  assertEquals(help.code, 0);
  assertStringIncludes(new TextDecoder().decode(help.stdout), "--port N");
});
