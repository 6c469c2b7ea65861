/**
 * The port of the OPFS-like medium against the OPFS adapter itself, which runs on the same simulated disk.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openOpfsStorage } from "../../../src/adapters/opfs/mod.ts";
import { isStageName, partOf } from "../../../src/adapters/opfs/stored_names.ts";
import { CrashSpace } from "../../../src/testing/media/crash_space.ts";
import type { MediumOperation } from "../../../src/testing/media/mod.ts";
import { isWhole } from "../../../src/testing/media/opfs_file.ts";
import { writeBack } from "../../../src/testing/media/stranger.ts";
import { imageOf } from "../../../src/testing/media/tree.ts";
import {
  answersOf,
  BOUNDS,
  emptyDisk,
  imagesOf,
  type Machine,
  operationsOf,
  simulatedMachine,
  withoutStages,
} from "./adapter_comparison.ts";
import { simulatedOrigin } from "./simulated_origin.ts";

const ROOT = "root";

const simulated = () => simulatedMachine("opfs");

async function real(): Promise<Machine> {
  const disk = emptyDisk();
  const platform = simulatedOrigin(disk, disk.start("writer"));
  return {
    storage: await openOpfsStorage({ root: ROOT, platform }),
    failAt: (fault) => disk.faults.add(fault),
    operations: disk.faults.listed,
    crash: () => disk.crash(),
    writeBack: () => writeBack(disk.root, BOUNDS.blockBytes),
    *images() {
      const space = new CrashSpace(withoutStages(disk.root, isStage), { bounds: BOUNDS, isPublished: isWhole });
      for (let index = 0; index < space.count; index++) {
        const image = new Map<string, Uint8Array>();
        for (const [path, bytes] of imageOf(space.at(index).root, isWhole)) {
          image.set(path.split("/").slice(1).map(partOf).join("/"), bytes);
        }
        yield image;
      }
    },
  };
}

/** The calls in order, but for the root's own folder, and for what only a stage needs: a handle, and its removal. */
function callsOf(operations: readonly MediumOperation[]): string[] {
  return operations
    .filter(({ kind, name }) => !isStage(name) || (kind !== "unlink" && kind !== "open-handle"))
    .filter(({ kind, name }) => kind !== "mkdir" || name !== ROOT)
    .map(({ kind }) => kind);
}

function isStage(name: string): boolean {
  return isStageName(name.slice(name.lastIndexOf("/") + 1));
}

Deno.test("the OPFS adapter makes the calls that the simulated port counts, in the same order", async () => {
  assertEquals(callsOf(await operationsOf(simulated)), callsOf(await operationsOf(real)));
});

Deno.test("at every acknowledged step of a session's life a power cut leaves of the OPFS adapter what it leaves of the simulated port", async () => {
  const [ours, theirs] = [await imagesOf(simulated), await imagesOf(real)];
  for (const image of theirs) assert(ours.has(image), `only of the OPFS adapter: ${image}`);
  for (const image of ours) assert(theirs.has(image), `only of the simulated port: ${image}`);
  console.log(`${ours.size} states`);
});

Deno.test("whatever call fails, the OPFS adapter and the simulated port say the same of it", async () => {
  const kinds = ["EIO", "ENOSPC", "short-write", "sync-drops", "sync-refused", "handle-refused"] as const;
  const [ours, theirs] = [await answersOf(simulated, kinds), await answersOf(real, kinds)];
  assert(ours.length > 40, `${ours.length} answers`);
  assertEquals(ours, theirs);
});
