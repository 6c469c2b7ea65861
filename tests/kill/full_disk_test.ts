import { assert, assertEquals } from "@std/assert";
import { openSession } from "../../mod.ts";
import { openFileStorage } from "../../src/adapters/file/mod.ts";
import { type FileSystem, nodeFileSystem } from "../../src/adapters/file/file_system.ts";
import { openFileStore, openLogFile } from "../../src/entry/file.ts";
import { systemRuntime } from "../../src/entry/system.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import { Child } from "./child.ts";
import { fillInTheMiddle, type FullDiskFiles, type FullDiskReport, type Point, POINTS } from "./full_disk.ts";
import type { FullDiskOrder } from "./full_disk_child.ts";
import { eventsOf, readRaw } from "./raw_log.ts";

/** The size of the tmpfs. */
const TMPFS = "1m";
/** The limit of a file's size, as `ulimit -f` counts, and an event that is larger however well it compresses. */
const LIMIT_KIB = 64;
const BALLAST_ABOVE_LIMIT = 4 * LIMIT_KIB * 1024;
/** Two blocks and more: the log's last block may have room when the disk has none. */
const BALLAST_ABOVE_SLACK = 4 * 4096;

/** A folder outside of the full disk, and the root inside of it. */
async function withFiles(test: (root: string, files: FullDiskFiles) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-full-" });
  const root = `${folder}/root`;
  const files: FullDiskFiles = {
    log: `${root}/_no-cwd/s/session.v3.jsonl.zstd`,
    effects: `${folder}/effects`,
    logWhenFull: `${folder}/when_full`,
    logAtEnd: `${folder}/at_end`,
  };
  try {
    await Deno.mkdir(root);
    await test(root, files);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function runChild(order: FullDiskOrder, prefix: readonly string[]): Promise<FullDiskReport> {
  await using child = new Child("full_disk_child.ts", order, prefix);
  return JSON.parse(await child.output());
}

/** What must hold on every full disk. */
async function checkReport(report: FullDiskReport, point: Point, files: FullDiskFiles): Promise<void> {
  const { before, full, stillFull, freed, reopened } = report;
  assertEquals([before.reason, before.effects], ["completed", 1]);

  // The effect after the failed barrier did not run; the one before it did, once.
  const effects = point === "result" ? 2 : 1;
  assertEquals([full.reason, full.code, full.effects], ["error", "CHECKPOINT_FAILED", effects]);
  assertEquals(full.codes.slice(0, 2), ["CHECKPOINT_FAILED", "STORAGE_FULL"]);
  assertEquals([stillFull.reason, stillFull.code, stillFull.effects], ["error", "CHECKPOINT_FAILED", effects]);
  assert(!report.isReadOnlyWhenFull, "a full disk is no reason to be read-only");

  const whenFull = readRaw(await Deno.readFile(files.logWhenFull));
  assertEquals(whenFull.tornBytes, 0);
  assertEquals(eventsOf(whenFull.rows).length, report.durableSeqWhenFull + 1, "the log is what was acknowledged");
  await checkWhole(files.logWhenFull);
  if (freed === null || reopened === null) return;

  assertEquals([freed.reason, freed.effects], ["completed", effects + 1]);
  assertEquals([reopened.reason, reopened.effects], ["completed", effects + 2]);
  const events = eventsOf(readRaw(await Deno.readFile(files.logAtEnd)).rows);
  whenFull.rows.slice(1).forEach(({ text }, seq) => assertEquals(events[seq]?.text, text));
  const ends = events.filter(({ type }) => type === "turn/end").map(({ data }) => data.reason?.kind);
  assertEquals(ends, ["completed", "error", "error", "completed", "completed"]);
  const results = events.filter(({ type }) => type === "tool/result").map(({ data }) => data.error?.code ?? "ok");
  const refused = point === "result" ? "ok" : "CHECKPOINT_FAILED";
  assertEquals(results, ["ok", refused, "ok", "ok"]);
  await checkWhole(files.logAtEnd);
}

async function checkWhole(log: string): Promise<void> {
  const reader = await openLogFile(log);
  const { fault, torn } = reader.state();
  await reader.close();
  assertEquals([fault, torn], [null, null]);
}

/** How a tmpfs can be had here: in a namespace that vanishes with the process, or mounted for all to see. */
async function tmpfsKind(): Promise<"unshared" | "mounted" | null> {
  const run = async (command: string, ...args: string[]) => {
    const child = new Deno.Command(command, { args, stdin: "null", stdout: "null", stderr: "null" });
    return await child.output().then(({ success }) => success, () => false);
  };
  const probe = await Deno.makeTempDir({ prefix: "holdfast-probe-" });
  try {
    const mount = `mount -t tmpfs -o size=${TMPFS} tmpfs "$0"`;
    if (await run("unshare", "--mount", "--map-root-user", "--", "sh", "-c", mount, probe)) return "unshared";
    if (!await run("sh", "-c", mount, probe)) return null;
    return await run("umount", probe) ? "mounted" : null;
  } finally {
    await Deno.remove(probe).catch(() => {});
  }
}

Deno.test("field/A04 a tmpfs full in the middle of a turn: no effect, STORAGE_FULL, an intact log, and it goes on", async () => {
  const kind = await tmpfsKind();
  console.log(
    kind === null
      ? "1 case not run: mounting a tmpfs is not permitted here; injected ENOSPC stands in for it"
      : `full disk: a tmpfs of ${TMPFS}, ${kind === "unshared" ? "in a namespace of its own" : "mounted by root"}`,
  );
  if (kind === null) return;
  for (const point of POINTS) {
    await withFiles(async (root, files) => {
      const order: FullDiskOrder = { root, point, files, medium: "tmpfs", ballast: BALLAST_ABOVE_SLACK };
      const mount = `mount -t tmpfs -o size=${TMPFS} tmpfs "$0"`;
      if (kind === "unshared") {
        const unshare = ["unshare", "--mount", "--map-root-user", "--"];
        const report = await runChild(order, [...unshare, "sh", "-c", `${mount} && exec "$@"`, root]);
        return await checkReport(report, point, files);
      }
      // The mount outlives the shell, so it is taken away whatever happens.
      try {
        const report = await runChild(order, ["sh", "-c", `${mount} && exec "$@"`, root]);
        await checkReport(report, point, files);
      } finally {
        await new Deno.Command("umount", { args: [root] }).output();
      }
    });
  }
});

Deno.test("field/A04 RLIMIT_FSIZE with SIGXFSZ ignored, reached in the middle of a turn: the same", async () => {
  const hasBash = await new Deno.Command("bash", { args: ["-c", "ulimit -S -f"] }).output().then(
    (it) => it.success,
    () => false,
  );
  console.log(
    hasBash ? `full disk: RLIMIT_FSIZE of ${LIMIT_KIB} KiB` : "1 case not run: no bash that can set RLIMIT_FSIZE",
  );
  if (!hasBash) return;
  for (const point of POINTS) {
    await withFiles(async (root, files) => {
      const order: FullDiskOrder = { root, point, files, medium: "limit", ballast: BALLAST_ABOVE_LIMIT };
      const limit = `trap "" XFSZ; ulimit -S -f ${LIMIT_KIB}; exec "$@"`;
      const report = await runChild(order, ["bash", "-c", limit, "bash"]);
      if (report.freed === null) console.log("no prlimit command: the limited process itself could not go on");
      await checkReport(report, point, files);
      // Another process, without the limit.
      await using store = openFileStore({ root });
      const { session, resumed } = await openSession({ store, id: "s" });
      await session.close();
      assertEquals(resumed.unresolved, []);
    });
  }
});

Deno.test("field/A04 injected ENOSPC, in the middle of a write, in the middle of a turn: the same", async () => {
  console.log("full disk: injected ENOSPC after a short write");
  for (const point of POINTS) {
    await withFiles(async (root, files) => {
      let isFull = false;
      const fs: FileSystem = {
        ...nodeFileSystem,
        writeSync(descriptor, bytes, offset, length, position) {
          if (!isFull) return nodeFileSystem.writeSync(descriptor, bytes, offset, length, position);
          if (offset === 0 && length > 1) return nodeFileSystem.writeSync(descriptor, bytes, 0, length >> 1, position);
          throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
        },
      };
      const storage = openFileStorage({ root, fs });
      const store = openJournal({ storage, codec: nodeZstd(), ...systemRuntime });
      const disk = {
        store,
        ballast: 2,
        fill: () => void (isFull = true),
        free: () => {
          isFull = false;
          return true;
        },
      };
      await checkReport(await fillInTheMiddle(disk, point, files), point, files);
    });
  }
});
