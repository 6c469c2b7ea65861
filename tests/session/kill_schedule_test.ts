import { assert, assertEquals } from "@std/assert";
import { chromium } from "playwright";
import type { SessionEvent } from "../../mod.ts";
import { bundle } from "../../src/cli/web_build.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { bundleForNode, findNode } from "../support/node.ts";
import { repositoryDir } from "../support/paths.ts";
import type { KillResult } from "./kill_schedule.ts";
import { killProcesses } from "./kill_schedule_processes.ts";

/** The bundle of a process, and what the schedule leaves in Deno. */
async function inDeno(then: (bundle: string, here: KillResult) => Promise<void>): Promise<void> {
  const program = await bundleForNode("tests/session/kill_schedule_process.ts");
  try {
    await then(program, await killProcesses([Deno.execPath(), "run", "-A", "--no-config", "--no-lock", program]));
  } finally {
    await Deno.remove(program.replace(/\/[^/]*$/, ""), { recursive: true });
  }
}

Deno.test({
  name: "exec/C24: killed at the same points, Deno, Node and a worker of Chromium leave the same logs, event for event",
  // Playwright keeps timers of its own.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    inDeno(async (program, here) => {
      checkResult(here);
      assertEquals(await killProcesses([await findNode(), program]), here, "Node");
      assertEquals(await inChromium(), here, "Chromium");
    }),
});

/** What is promised about each log, by the bank alone: two payments at most, and what is called done or absent is so. */
function checkResult({ logs, payments }: KillResult): void {
  assert(logs.length > 20, `${logs.length} points`);
  assertEquals(new Set(payments), new Set([0, 1, 2]));
  for (const [point, log] of logs.entries()) {
    const events = (JSON.parse(log) ?? []) as SessionEvent[];
    const receipts = events.filter(({ type, data }) =>
      type === "tool/result" && JSON.stringify(data).includes("receipt")
    );
    assertEquals(receipts.length, payments[point], `point ${point}`);
  }
  assert(logs[0] === "null" && logs.some((log) => log.includes('"happened"')));
}

async function inChromium(): Promise<KillResult> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-kill-schedule-" });
  try {
    const here = `${repositoryDir}/tests/session`;
    await bundle(
      { "page.js": `${here}/kill_schedule_page.ts`, "worker.js": `${here}/kill_schedule_worker.ts` },
      folder,
    );
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
      const { pathname } = new URL(request.url);
      const html = '<!doctype html><title>kills</title><script type="module" src="/page.js"></script>';
      if (pathname === "/") return new Response(html, { headers: { "content-type": "text/html" } });
      const script = await Deno.readFile(`${folder}${pathname}`).catch(() => null);
      return new Response(script, {
        status: script === null ? 404 : 200,
        headers: { "content-type": "text/javascript" },
      });
    });
    const { executablePath, env } = await findChromium();
    const browser = await chromium.launch({ executablePath, env: { ...Deno.env.toObject(), ...env } });
    try {
      const tab = await browser.newPage();
      await tab.goto(`http://127.0.0.1:${server.addr.port}/`);
      await tab.waitForFunction("'killSchedule' in globalThis");
      return await tab.evaluate("killSchedule()") as KillResult;
    } finally {
      await browser.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
