import { assertEquals } from "@std/assert";
import type { LiveEvent } from "../../src/agent/loop.ts";
import { Watchers } from "../../src/agent/watchers.ts";

Deno.test("tell() reaches every watcher, and none harms the others or the process: thrown, rejected or hanging", async () => {
  const watchers = new Watchers();
  const told: string[] = [];
  watchers.add(() => {
    throw new Error("thrown");
  });
  watchers.add(
    (async () => {
      await null;
      throw new Error("rejected");
    }) as (live: LiveEvent) => void,
  );
  watchers.add((() => new Promise(() => {})) as (live: LiveEvent) => void);
  watchers.add((live) => void told.push(live.kind));
  watchers.tell({ kind: "status", status: "running" });
  // An unhandled rejection would end the process here.
  await new Promise((resume) => setTimeout(resume, 0));
  assertEquals(told, ["status"]);
});
