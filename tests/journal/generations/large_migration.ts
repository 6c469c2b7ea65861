/**
 * Migrates a large log with the command, in a process of its own, and looks how much memory that takes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openFileStore } from "../../../src/entry/file.ts";
import { fromFileUrl } from "../../support/paths.ts";
import { writeLargeLog } from "./large_log.ts";

/** What was seen. */
export interface LargeMigration {
  readonly turns: number;
  readonly plainBytes: number;
  readonly fileBytes: number;
  readonly targetBytes: number;
  readonly events: number;
  /** The most memory the process ever had resident, in bytes. */
  readonly peakBytes: number;
  readonly seconds: number;
  /** The lines about how far it was. */
  readonly progress: readonly string[];
}

/** How often the process is looked at, in milliseconds. */
const LOOK_MS = 50;

/** Writes a log of that much plain text into a folder of its own, migrates it, and removes it. */
export async function migrateLarge(sizeBytes: number, encoding: "zstd" | "none"): Promise<LargeMigration> {
  const root = await Deno.makeTempDir({ prefix: "holdfast-large-" });
  try {
    const folder = `${root}/--w--/big`;
    await Deno.mkdir(folder, { recursive: true });
    const suffix = encoding === "zstd" ? ".zstd" : "";
    const source = `${folder}/session.jsonl${suffix}`;
    const written = await writeLargeLog(source, sizeBytes, encoding);
    const before = await Deno.stat(source);

    const startedMs = performance.now();
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", fromFileUrl(new URL("../../../src/cli/main.ts", import.meta.url))]
        .concat(["migrate", "big", "--json", "--root", root]),
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let peakBytes = 0;
    const looking = setInterval(() => peakBytes = Math.max(peakBytes, residentPeak(child.pid)), LOOK_MS);
    const { code, stdout, stderr } = await child.output().finally(() => clearInterval(looking));
    const seconds = (performance.now() - startedMs) / 1000;
    const said = new TextDecoder().decode(stdout);
    const complained = new TextDecoder().decode(stderr);
    assertEquals(code, 0, said + complained);
    const { outcome, events, sizeBytes: targetBytes } = JSON.parse(said);
    assertEquals(outcome, "published");

    const after = await Deno.stat(source);
    assertEquals([after.size, after.mtime, after.ino], [before.size, before.mtime, before.ino]);
    assertEquals((await Deno.stat(`${folder}/session.v3.jsonl${suffix}`)).size, targetBytes);
    await using store = openFileStore({ root });
    const row = await store.stat("big");
    assertEquals(row?.version, 3);
    assert(row?.state === "ok" || row?.state === "unchecked", row?.reason ?? "");
    const progress = complained.trimEnd().split("\n").filter((line) => line.startsWith("migrating"));
    return { ...written, targetBytes, events, peakBytes, seconds, progress };
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** The high-water mark of a process's resident memory; 0 when it is gone. */
function residentPeak(pid: number): number {
  try {
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** The figures on one line. */
export function describeLarge(found: LargeMigration): string {
  const mb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
  return `${mb(found.plainBytes)} of rows in ${
    mb(found.fileBytes)
  }, ${found.turns} turns → ${found.events} events in ` +
    `${mb(found.targetBytes)}; ${found.seconds.toFixed(1)} s, peak ${mb(found.peakBytes)} resident`;
}
