/**
 * The few functions of the C library that the programs of the sandbox call.
 *
 * @module
 */

/** The C library, opened. */
export interface Libc {
  /** `prctl(2)` with one number. */
  readonly prctl: (option: number, argument: bigint) => number;
  /** `syscall(2)`: numbers, or addresses of buffers. */
  readonly syscall: (number: number, ...args: (number | bigint | Uint8Array<ArrayBuffer>)[]) => number;
  /** `execve(2)`; returns only when it failed. */
  readonly execve: (path: string, argv: readonly string[], environment: readonly string[]) => void;
  /** Gives a signal its default meaning back. */
  readonly resetSignal: (signal: number) => void;
  /** Changes the working folder of this process for good. */
  readonly chdir: (path: string) => number;
  /** The number of the last failure. */
  readonly errno: () => number;
  /** The address of a buffer, for structures that hold one. */
  readonly addressOf: (buffer: Uint8Array<ArrayBuffer>) => bigint;
}

const NAMES = ["libc.so.6", "libc.so", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const FUNCTIONS = {
  prctl: { parameters: ["i32", "u64", "u64", "u64", "u64"], result: "i32" },
  syscall: { parameters: ["i64", "u64", "u64", "u64", "u64", "u64", "u64"], result: "i64" },
  execve: { parameters: ["buffer", "buffer", "buffer"], result: "i32" },
  signal: { parameters: ["i32", "u64"], result: "u64" },
  chdir: { parameters: ["buffer"], result: "i32" },
  __errno_location: { parameters: [], result: "pointer" },
} as const;

/**
 * Opens the C library of this system.
 *
 * @throws {Error} when there is none under a name we know
 *
 * @example
 * ```ts
 * import { openLibc } from "./libc.ts";
 *
 * function ownPid(getpid: number): number {
 *   return openLibc().syscall(getpid);
 * }
 * ```
 */
export function openLibc(): Libc {
  const { symbols } = openFirst();
  const addressOf = (buffer: Uint8Array<ArrayBuffer>) =>
    BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer)));
  return {
    prctl: (option, argument) => symbols.prctl(option, argument, 0n, 0n, 0n),
    syscall(number, ...args) {
      const words = args.map((each) => each instanceof Uint8Array ? addressOf(each) : BigInt.asUintN(64, BigInt(each)));
      const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n] = words;
      return Number(symbols.syscall(BigInt(number), a, b, c, d, e, f));
    },
    execve(path, argv, environment) {
      const vectors = [argv, environment].map((texts) => {
        const strings = texts.map(cString);
        return { strings, pointers: new BigUint64Array([...strings.map(addressOf), 0n]) };
      });
      symbols.execve(cString(path), vectors[0]!.pointers, vectors[1]!.pointers);
    },
    resetSignal: (signal) => void symbols.signal(signal, 0n),
    chdir: (path) => symbols.chdir(cString(path)),
    errno() {
      const location = symbols.__errno_location();
      return location === null ? 0 : new Deno.UnsafePointerView(location).getInt32();
    },
    addressOf,
  };
}

function openFirst() {
  for (const name of NAMES) {
    try {
      return Deno.dlopen(name, FUNCTIONS);
    } catch {
      // The next name; the last failure is told in our own words.
    }
  }
  throw new Error("there is no C library under a known name");
}

/**
 * A text as C reads it.
 *
 * @example
 * ```ts
 * import { cString } from "./libc.ts";
 *
 * if (cString("a").length !== 2) throw new Error("unreachable");
 * ```
 */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
