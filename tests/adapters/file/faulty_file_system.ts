/**
 * The real file system with calls that fail on purpose, counted calls, and a process that dies in the middle.
 *
 * @module
 */

import {
  type FileSystem,
  type Guard,
  type KernelLock,
  nodeFileSystem,
  systemKernelLock,
} from "../../../src/adapters/file/mod.ts";
import type { StorageFault } from "../../../src/testing/storage_contract.ts";

type Call = keyof FileSystem;
/** Stands in for one call: gets the real one, returns or throws what it likes. */
type Replacement = (real: () => unknown, args: unknown[]) => unknown;

/** A file system whose next calls can be replaced. */
export class FaultyFileSystem {
  /** To give to `openFileStorage`. */
  readonly fs: FileSystem;
  /** Every call so far, with its path or descriptor. */
  readonly calls: { readonly call: Call; readonly target: unknown }[] = [];
  readonly #next = new Map<Call, Replacement[]>();
  readonly #always = new Map<Call, Replacement>();
  #callsLeft = Infinity;

  constructor() {
    this.fs = new Proxy(nodeFileSystem, {
      get: (target, call: Call) => (...args: unknown[]) => {
        this.calls.push({ call, target: args[0] });
        if (this.#callsLeft-- <= 0) throw errorWith("EIO", "the simulated process is dead");
        // deno-lint-ignore ban-types -- whichever call it is, it gets the arguments it was given
        const real = () => (target[call] as Function)(...args);
        const replacement = this.#next.get(call)?.shift() ?? this.#always.get(call);
        return replacement === undefined ? real() : replacement(real, args);
      },
    });
  }

  /** Replaces the next call, once; several are used in turn. */
  next(call: Call, replacement: Replacement): void {
    this.#next.set(call, [...this.#next.get(call) ?? [], replacement]);
  }

  /** Replaces every call. */
  always(call: Call, replacement: Replacement): void {
    this.#always.set(call, replacement);
  }

  /** After so many calls every further one fails: the process is dead and cleans up nothing. */
  dieAfter(calls: number): void {
    this.#callsLeft = calls;
  }

  /** One fault of the contract, as calls of the operating system. */
  failNext(fault: StorageFault): void {
    const code = fault.kind === "enospc" ? "ENOSPC" : "EIO";
    const fail = () => {
      throw errorWith(code, "simulated");
    };
    if (fault.operation === "sync") return this.next("fdatasyncSync", fail);
    if (fault.operation === "publish") return this.next(fault.kind === "eio" ? "linkSync" : "fdatasyncSync", fail);
    const steps = fault.steps ?? 0;
    if (steps > 0) {
      this.next(
        "writeSync",
        (_, args) => nodeFileSystem.writeSync(args[0] as number, args[1] as Uint8Array, 0, steps, null),
      );
    }
    this.next("writeSync", fault.kind === "short" ? () => 0 : fail);
    if (fault.cutsBack === false) this.next("ftruncateSync", fail);
  }
}

/** An error as the operating system's, with or without the code that Deno sometimes leaves out. */
export function errorWith(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}

/** The kernel's lock of a process that can die: then all its guards are free, although this process lives. */
export class MortalKernelLock implements KernelLock {
  readonly unusable = null;
  readonly #real = systemKernelLock();
  readonly #guards = new Set<Guard>();
  #isDead = false;

  acquire(path: string): Guard | null {
    const guard = this.#real.acquire(path);
    if (guard === null) return null;
    if (this.#isDead) {
      guard.release();
      throw errorWith("EIO", "the simulated process is dead");
    }
    this.#guards.add(guard);
    return { identity: guard.identity, release: () => this.#guards.delete(guard) && guard.release() };
  }

  probe(path: string): boolean {
    return this.#real.probe(path);
  }

  die(): void {
    this.#isDead = true;
    for (const guard of this.#guards) guard.release();
    this.#guards.clear();
  }
}
