import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "../../support/paths.ts";
import type { FullDiskFound, FullDiskOrder } from "./full_disk_child.ts";

/** The size of the tmpfs. */
const TMPFS = "2m";
/** The limit of a file's size, as `ulimit -f` counts. */
const LIMIT_KIB = 256;
/** More than either has. */
const BALLAST = 4 * 1024 * 1024;

/** A folder for a disk, and what a child found on it. */
async function found(order: (disk: string) => FullDiskOrder, prefix: (disk: string) => readonly string[]) {
  const disk = await Deno.makeTempDir({ prefix: "holdfast-sqlite-full-" });
  try {
    const program = fromFileUrl(new URL("./full_disk_child.ts", import.meta.url));
    const [command, ...args] = prefix(disk);
    const child = await new Deno.Command(command!, {
      args: [...args, Deno.execPath(), "run", "--quiet", "-A", "--no-check", program, JSON.stringify(order(disk))],
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(child.stdout);
    assert(child.success, `${text}${new TextDecoder().decode(child.stderr)}`);
    return JSON.parse(text) as FullDiskFound;
  } finally {
    await new Deno.Command("umount", { args: [disk], stderr: "null" }).output().catch(() => {});
    await Deno.remove(disk, { recursive: true });
  }
}

/** Nothing acknowledged is lost, nothing refused is there, and it goes on when there is room. */
function checkFound({ codes, ...rest }: FullDiskFound, code: string): void {
  assertEquals(codes, [code, code, code]);
  assertEquals(rest, {
    ...{ nextSeqWhenFull: 3, seqsWhenFull: [0, 1, 2], appended: 4, seqsAtEnd: [0, 1, 2, 3, 4, 5] },
    ...{ isNewThere: false, integrity: "ok" },
  });
}

/** How a tmpfs can be had here. */
async function tmpfsPrefix(): Promise<((disk: string) => readonly string[]) | null> {
  const mount = `mount -t tmpfs -o size=${TMPFS} tmpfs "$0"`;
  const prefixes = [
    (disk: string) => ["unshare", "--mount", "--map-root-user", "--", "sh", "-c", `${mount} && exec "$@"`, disk],
    (disk: string) => ["sh", "-c", `${mount} && exec "$@"`, disk],
  ];
  for (const prefix of prefixes) {
    const disk = await Deno.makeTempDir({ prefix: "holdfast-probe-" });
    try {
      const [command, ...args] = prefix(disk);
      const probe = new Deno.Command(command!, { args: [...args, "true"], stdout: "null", stderr: "null" });
      if (await probe.output().then(({ success }) => success, () => false)) return prefix;
    } finally {
      await new Deno.Command("umount", { args: [disk], stderr: "null" }).output().catch(() => {});
      await Deno.remove(disk).catch(() => {});
    }
  }
  return null;
}

Deno.test("sqlite: a disk that gets full is STORAGE_FULL, keeps what was acknowledged, and goes on when there is room", async () => {
  const prefix = await tmpfsPrefix();
  if (prefix === null) return console.log("1 case not run: mounting a tmpfs is not permitted here");
  const order = (disk: string) => ({ path: `${disk}/sessions.db`, filler: `${disk}/filler`, ballast: BALLAST });
  checkFound(await found(order, prefix), "STORAGE_FULL");
});

Deno.test("sqlite: a limit of the size of files is a medium that failed: nothing of the batch is there, and smaller ones go on", async () => {
  const test = new Deno.Command("bash", { args: ["-c", "ulimit -S -f"], stdout: "null" }).output();
  if (!await test.then(({ success }) => success, () => false)) {
    return console.log("1 case not run: no bash that can set RLIMIT_FSIZE");
  }
  const limit = `trap "" XFSZ; ulimit -S -f ${LIMIT_KIB}; exec "$@"`;
  const order = (disk: string) => ({ path: `${disk}/sessions.db`, filler: null, ballast: BALLAST });
  // SQLite does not say which of the system's errors it met.
  checkFound(await found(order, () => ["bash", "-c", limit, "bash"]), "STORAGE_LOST");
});
