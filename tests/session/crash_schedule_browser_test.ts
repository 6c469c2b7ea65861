import { assertEquals } from "@std/assert";
import { chromium } from "playwright";
import { findChromium } from "../support/browser/chromium.ts";
import { bundleForNode } from "../support/node.ts";
import { runSchedule } from "./crash_schedule.ts";

Deno.test({
  name: "exec/C24: the same crash schedule leaves the same logs in a worker of Chromium",
  // Playwright keeps timers of its own.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const bundle = await bundleForNode("tests/session/crash_schedule_worker.ts");
    const script = await Deno.readTextFile(bundle);
    await Deno.remove(bundle.replace(/\/[^/]*$/, ""), { recursive: true });
    const page = "<!doctype html><title>schedule</title>";
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
      const isScript = new URL(request.url).pathname === "/worker.js";
      const headers = { "content-type": isScript ? "text/javascript" : "text/html" };
      return new Response(isScript ? script : page, { headers });
    });
    const { executablePath, env } = await findChromium();
    const browser = await chromium.launch({ executablePath, env: { ...Deno.env.toObject(), ...env } });
    try {
      const tab = await browser.newPage();
      await tab.goto(`http://127.0.0.1:${server.addr.port}/`);
      const there = await tab.evaluate(() =>
        new Promise((resolve, reject) => {
          const worker = new Worker("/worker.js", { type: "module" });
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = (event) => reject(new Error(event.message));
        })
      );
      assertEquals(there, await runSchedule());
    } finally {
      await browser.close();
    }
  },
});
