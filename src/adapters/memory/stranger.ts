/**
 * A program on the simulated machine that ignores our locks.
 *
 * @module
 */

import { nameParts } from "../../storage/names.ts";
import type { MemoryMedium } from "./medium.ts";

/** What a program that ignores our locks can do to the medium. Its changes are durable at once and are no operations. */
export interface MemoryStranger {
  /** Puts a new file in place of whatever had the name. */
  write(name: string, bytes: Uint8Array): void;
  /** Appends to the file that is there. */
  append(name: string, bytes: Uint8Array): void;
  /** Removes a name, whoever has it open. */
  remove(name: string): void;
}

/** A stranger on this medium. */
export function strangerOn(medium: MemoryMedium): MemoryStranger {
  const change = (name: string, act: () => void) => {
    nameParts(name);
    act();
    medium.writeBack();
  };
  return {
    write: (name, bytes) => change(name, () => medium.setName(name, medium.createNode(bytes))),
    append: (name, bytes) =>
      change(name, () => {
        const node = medium.names.get(name);
        if (node === undefined) throw new TypeError(`Cannot append to "${name}" as a stranger: it is not there`);
        medium.append(node, bytes);
      }),
    remove: (name) => change(name, () => medium.removeName(name)),
  };
}
