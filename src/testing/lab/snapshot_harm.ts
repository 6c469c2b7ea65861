/**
 * What may happen to a snapshot while no process runs: it is gone, cut, changed in a bit, or another one lies in its place.
 *
 * A snapshot is disposable, so nothing of that may be seen in anything but the time it takes to open a session.
 *
 * @module
 */
import type { SimulatedMedium } from "../media/mod.ts";
import type { SnapshotReport } from "../../store/session_store.ts";
import { type Dice, diceOf } from "./dice.ts";

/** How many snapshots are remembered for being put in the place of others. */
const REMEMBERED_MAX = 64;

/** What was done, how often. */
export type HarmCounts = Record<
  "kept" | "deleted" | "cut" | "changed" | "swapped" | "absent" | "used" | "refused",
  number
>;

/** Harms the snapshots of one unit's runs. */
export class SnapshotHarm {
  readonly counts: HarmCounts = { kept: 0, deleted: 0, cut: 0, changed: 0, swapped: 0, absent: 0, used: 0, refused: 0 };
  readonly #prefix: string;
  readonly #dice: Dice;
  readonly #remembered: { readonly name: string; readonly bytes: Uint8Array }[] = [];

  /** @param log the full name of the session's log */
  constructor(log: string, seed: number) {
    this.#prefix = `${log}.snapshot-`;
    this.#dice = diceOf(seed);
  }

  /** Remembers the snapshots of a medium: of another run of the same session, or of an earlier moment. */
  remember(medium: SimulatedMedium): void {
    for (const [name, bytes] of this.#snapshotsOn(medium)) {
      if (this.#remembered.some((each) => each.name === name)) continue;
      this.#remembered.push({ name, bytes: bytes.slice() });
      if (this.#remembered.length > REMEMBERED_MAX) this.#remembered.shift();
    }
  }

  /** A session was opened. */
  opened(report: SnapshotReport | null): void {
    if (report?.openedBy === "snapshot") this.counts.used++;
    else if (report !== null && report.refused !== null) this.counts.refused++;
  }

  /** Does one thing to the snapshots there are, drawn. A medium that nobody has open. */
  harm(medium: SimulatedMedium): void {
    const found = this.#snapshotsOn(medium);
    const dice = this.#dice;
    const draw = dice.below(12);
    if (draw >= 8 && this.#remembered.length > 0 && medium.snapshot().has(this.#prefix.slice(0, -10))) {
      const other = dice.pick(this.#remembered);
      for (const [name] of found) medium.decay(name, null);
      medium.decay(other.name, other.bytes);
      this.counts.swapped++;
    } else if (found.length === 0) {
      this.counts.absent++;
    } else if (draw === 0 || draw >= 4) {
      this.counts.kept++;
    } else {
      for (const [name, bytes] of found) {
        if (draw === 1) medium.decay(name, null);
        else if (draw === 2) medium.decay(name, bytes.slice(0, 1 + dice.below(bytes.length - 1)));
        else medium.decay(name, withBit(bytes, dice));
      }
      this.counts[draw === 1 ? "deleted" : draw === 2 ? "cut" : "changed"]++;
    }
    this.remember(medium);
  }

  #snapshotsOn(medium: SimulatedMedium): [string, Uint8Array][] {
    return [...medium.snapshot()].filter(([name]) => name.startsWith(this.#prefix));
  }
}

/** One bit is another one; not in the first byte, which says that there is a file. */
function withBit(bytes: Uint8Array, dice: Dice): Uint8Array {
  const changed = bytes.slice();
  const at = 1 + dice.below(bytes.length - 1);
  changed[at] = changed[at]! ^ (1 << dice.below(8));
  return changed;
}
