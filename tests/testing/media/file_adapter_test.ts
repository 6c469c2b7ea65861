/**
 * The port of the POSIX-like medium against the file adapter itself, which runs on the same simulated disk.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openFileStorage } from "../../../src/adapters/file/mod.ts";
import { parseStagingName } from "../../../src/adapters/file/staging_names.ts";
import { CrashSpace } from "../../../src/testing/media/crash_space.ts";
import type { MediumOperation } from "../../../src/testing/media/mod.ts";
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
import { SimulatedFileSystem } from "./simulated_file_system.ts";

const simulated = () => simulatedMachine("posix");

function real(): Machine {
  const disk = emptyDisk();
  const fs = new SimulatedFileSystem(disk, disk.start("writer"));
  return {
    storage: openFileStorage({ root: "/", fs, kernelLock: fs.kernelLock }),
    failAt: (fault) => disk.faults.add(fault),
    operations: disk.faults.listed,
    crash: () => disk.crash(),
    writeBack: () => writeBack(disk.root, BOUNDS.blockBytes),
    *images() {
      const space = new CrashSpace(withoutStages(disk.root, isStage), { bounds: BOUNDS, isPublished: () => true });
      for (let index = 0; index < space.count; index++) {
        yield imageOf(space.at(index).root, () => true);
      }
    },
  };
}

/** The calls in order, but for the removal of stages, for which nobody waits. */
function callsOf(operations: readonly MediumOperation[]): string[] {
  return operations
    .filter(({ kind, name }) => kind !== "unlink" || !isStage(name))
    // The folder that holds the root is the root itself here, so what is synced twice in a row is the same call.
    .filter(({ kind, name }, index, all) => kind !== "sync-folder" || name !== "" || all[index - 1]?.name !== "")
    .map(({ kind }) => kind);
}

function isStage(name: string): boolean {
  return parseStagingName(name.slice(name.lastIndexOf("/") + 1)) !== null;
}

Deno.test("the file adapter makes the calls that the simulated port counts, in the same order", async () => {
  assertEquals(callsOf(await operationsOf(simulated)), callsOf(await operationsOf(real)));
});

Deno.test("at every acknowledged step of a session's life a power cut leaves of the file adapter what it leaves of the simulated port", async () => {
  const [ours, theirs] = [await imagesOf(simulated), await imagesOf(real)];
  for (const image of theirs) assert(ours.has(image), `only of the file adapter: ${image}`);
  for (const image of ours) assert(theirs.has(image), `only of the simulated port: ${image}`);
  console.log(`${ours.size} states`);
});

Deno.test("whatever call fails, the file adapter and the simulated port say the same of it", async () => {
  const kinds = ["EIO", "ENOSPC", "short-write", "sync-drops", "sync-refused"] as const;
  const [ours, theirs] = [await answersOf(simulated, kinds), await answersOf(real, kinds)];
  assert(ours.length > 40, `${ours.length} answers`);
  assertEquals(ours, theirs);
});
