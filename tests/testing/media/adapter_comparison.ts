/**
 * An adapter and the simulated port that stands for it, on the same simulated disk: what both do, leave and say.
 *
 * @module
 */
import type { StoragePort } from "../../../mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import type { LogWriter } from "../../../src/store/session_store.ts";
import {
  CRASH_BOUNDS,
  type CrashBounds,
  type MediumFault,
  type MediumFaultKind,
  type MediumKind,
  type MediumOperation,
  simulatedMedium,
} from "../../../src/testing/media/mod.ts";
import { SimulatedDisk } from "../../../src/testing/media/disk.ts";
import { drawsOf } from "../../../src/testing/media/draws.ts";
import { FolderNode } from "../../../src/testing/media/nodes.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { BATCHES, headerOf, journal, logOf, remembering } from "../../journal/script.ts";

/** A machine with one process, on which the script runs until it is done or something fails. */
export interface Machine {
  readonly storage: StoragePort;
  failAt(fault: MediumFault): void;
  readonly operations: readonly MediumOperation[];
  crash(): void;
  /** Time passes, so that names that nothing syncs are durable. */
  writeBack(): void;
  /** What a power cut leaves, without stages. */
  images(): Iterable<ReadonlyMap<string, Uint8Array>>;
}

/** Few prefixes of each write: here it is about which writes there are. */
export const BOUNDS: CrashBounds = { ...CRASH_BOUNDS, prefixBytesMax: 8, blockCombinationsMax: 8 };

/** A disk with nothing on it. */
export function emptyDisk(): SimulatedDisk {
  return new SimulatedDisk(new FolderNode(0), BOUNDS, drawsOf(1), 0, 0);
}

/** A tree without stages, which are nobody's to see. */
export function withoutStages(root: FolderNode, isStage: (name: string) => boolean): FolderNode {
  const copy = root.copy();
  const prune = (folder: FolderNode) => {
    for (const name of new Set([...folder.settled.keys(), ...folder.changes.map((change) => change.name)])) {
      if (isStage(name)) folder.erase(name);
    }
    const children = [...folder.settled.values(), ...folder.changes.map(({ node }) => node)];
    for (const node of new Set(children)) if (node?.kind === "folder") prune(node);
  };
  prune(copy);
  return copy;
}

/** The simulated port. */
export function simulatedMachine(kind: MediumKind): Machine {
  const medium = simulatedMedium({ kind, bounds: BOUNDS });
  return {
    storage: medium.open("writer"),
    failAt: (fault) => medium.failAt(fault),
    operations: medium.operationLog,
    crash: () => medium.crash(),
    writeBack: () => medium.writeBack(),
    *images() {
      for (const state of medium.crashStates()) yield state.files();
    },
  };
}

type Making = () => Machine | Promise<Machine>;

const codec = remembering(nodeZstd());

/** Several blocks that nothing makes shorter. */
const ATTACHMENT = seededRandom(1).bytes(1300);

/** How far a script got: steps that were acknowledged, and the code of what stopped it. */
interface Progress {
  readonly steps: number;
  readonly code: string | null;
}

/** The life of a session: written, given an attachment, reopened, cut, deleted. */
async function live({ storage, writeBack }: Machine): Promise<Progress> {
  let steps = 0;
  const done = async <Result>(step: Promise<Result>): Promise<Result> => {
    const result = await step;
    steps++;
    return result;
  };
  try {
    const store = journal(storage, { codec });
    const log: LogWriter = await done(store.create(headerOf()));
    for (const batch of BATCHES.slice(0, 3)) await done(log.append(batch));
    if (storage.traits.names === "deferred") writeBack();
    await done(log.putBlob(ATTACHMENT));
    await done(log.close());
    const again = await done(store.open("s", "write"));
    await done(again.recover([]));
    for (const batch of BATCHES.slice(3)) await done(again.append(batch));
    await done(again.close());
    const lock = await done(storage.lock("--w--/s/session.lock"));
    const file = await done(storage.open(logOf("zstd"), lock));
    await done(file.truncate(100));
    await done(file.sync());
    await done(file.close());
    await done(lock.release());
    await done(store.delete("s"));
  } catch (error) {
    const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
    return { steps, code };
  }
  return { steps, code: null };
}

/** The operations of a whole life. */
export async function operationsOf(make: Making): Promise<readonly MediumOperation[]> {
  const machine = await make();
  const { code } = await live(machine);
  if (code !== null) throw new Error(`the script was stopped by ${code}`);
  return [...machine.operations];
}

/** Everything a crash can leave, before each operation and at the end, with how far the script had got. */
export async function imagesOf(make: Making): Promise<Set<string>> {
  const images = new Set<string>();
  const count = (await operationsOf(make)).length;
  for (let operation = 0; operation <= count; operation++) {
    const machine = await make();
    machine.failAt({ operation, kind: "crash" });
    const { steps } = await live(machine);
    machine.crash();
    for (const image of machine.images()) images.add(`${steps} ${keyOf(image)}`);
  }
  return images;
}

/** What a writer is told when an operation fails, for each of them: the code, and how far it got. */
export async function answersOf(make: Making, kinds: readonly MediumFaultKind[]): Promise<string[]> {
  const answers = new Set<string>();
  const count = (await operationsOf(make)).length;
  for (const kind of kinds) {
    for (const sticky of [false, true]) {
      for (let operation = 0; operation < count; operation++) {
        const machine = await make();
        machine.failAt({ operation, kind, sticky });
        const { steps, code } = await live(machine);
        // A stage that could not be removed is swept later, and nobody hears of it.
        if (code !== null) answers.add(`${kind}, sticky ${sticky}: ${code} after ${steps} steps`);
      }
    }
  }
  return [...answers].toSorted();
}

function keyOf(image: ReadonlyMap<string, Uint8Array>): string {
  return [...image].map(([name, bytes]) => `${name}=${bytes.toHex()}`).toSorted().join();
}
