/**
 * The kernel's filter for system calls, as the bytes it takes.
 *
 * A network namespace does not hold local sockets that have a path, nor sockets to the host of a virtual machine; and a file
 * system that is read-only does not keep anybody from connecting to a socket in it. So whole families are refused here.
 *
 * @see linux/filter.h, linux/seccomp.h
 * @module
 */

/** What differs between machines. */
interface Machine {
  /** AUDIT_ARCH_… */
  readonly audit: number;
  /** The first number of the second, 32-bit-pointer interface; `null` = there is none. */
  readonly secondInterface: number | null;
  readonly socket: number;
  /** Keyrings, programs in the kernel, profiling: not bound to any namespace, and nothing a command needs. */
  readonly refused: readonly number[];
}

const MACHINES: Readonly<Record<string, Machine>> = {
  // add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd
  x86_64: { audit: 0xc000003e, secondInterface: 0x40000000, socket: 41, refused: [248, 249, 250, 298, 321, 323] },
  aarch64: { audit: 0xc00000b7, secondInterface: null, socket: 198, refused: [217, 218, 219, 241, 280, 282] },
};

/** io_uring opens sockets that no filter sees. The numbers are the same everywhere. */
const IO_URING = [425, 426, 427];

const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;

const OFFSET_NUMBER = 0;
const OFFSET_ARCH = 4;
const OFFSET_FIRST_ARGUMENT = 16;

/**
 * The filter for a machine; `null` where we do not know its numbers.
 *
 * @param families which sockets can be made: those of the internet, or none at all (where no namespace holds them)
 *
 * @example
 * ```ts
 * import { socketFilter } from "./seccomp.ts";
 *
 * const filter = socketFilter("x86_64", "internet");
 * if (filter === null || filter.length % 8 !== 0) throw new Error("unreachable");
 * if (socketFilter("pdp11", "none") !== null) throw new Error("unreachable");
 * ```
 */
export function socketFilter(machine: string, families: "internet" | "none"): Uint8Array<ArrayBuffer> | null {
  const found = Object.hasOwn(MACHINES, machine) ? MACHINES[machine]! : null;
  if (found === null) return null;
  const allowed = families === "internet" ? [AF_INET, AF_INET6, AF_NETLINK] : [];
  const program: Instruction[] = [
    [LOAD_WORD, 0, 0, OFFSET_ARCH],
    [JUMP_EQUAL, 1, 0, found.audit],
    [RETURN, 0, 0, ERRNO | ENOSYS],
    [LOAD_WORD, 0, 0, OFFSET_NUMBER],
  ];
  if (found.secondInterface !== null) {
    program.push([JUMP_AT_LEAST, 0, 1, found.secondInterface], [RETURN, 0, 0, ERRNO | ENOSYS]);
  }
  for (const number of IO_URING) program.push([JUMP_EQUAL, 0, 1, number], [RETURN, 0, 0, ERRNO | ENOSYS]);
  for (const number of found.refused) program.push([JUMP_EQUAL, 0, 1, number], [RETURN, 0, 0, ERRNO | EPERM]);
  program.push([JUMP_EQUAL, 1, 0, found.socket], [RETURN, 0, 0, ALLOW], [LOAD_WORD, 0, 0, OFFSET_FIRST_ARGUMENT]);
  for (const family of allowed) program.push([JUMP_EQUAL, 0, 1, family], [RETURN, 0, 0, ALLOW]);
  program.push([RETURN, 0, 0, ERRNO | EAFNOSUPPORT]);
  return encoded(program);
}

/** Code, steps to skip when true, steps to skip when false, operand. */
type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, operand: number];

function encoded(program: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [index, [code, whenTrue, whenFalse, operand]] of program.entries()) {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, whenTrue);
    view.setUint8(index * 8 + 3, whenFalse);
    view.setUint32(index * 8 + 4, operand, true);
  }
  return bytes;
}
