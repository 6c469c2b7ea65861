import { assert, assertEquals } from "@std/assert";
import { socketFilter } from "../../src/sandbox/seccomp.ts";

const X86 = 0xc000003e;
const ARM = 0xc00000b7;
const ALLOWED = 0x7fff0000;
const refused = (errno: number) => 0x00050000 | errno;

/** Runs a filter as the kernel does: four kinds of instruction over one system call. */
function judge(
  filter: Uint8Array,
  { arch, number, argument = 0 }: { arch: number; number: number; argument?: number },
): number {
  const words: Readonly<Record<number, number>> = { 0: number, 4: arch, 16: argument };
  const view = new DataView(filter.buffer);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const code = view.getUint16(at * 8, true);
    const whenTrue = view.getUint8(at * 8 + 2);
    const whenFalse = view.getUint8(at * 8 + 3);
    const operand = view.getUint32(at * 8 + 4, true);
    if (code === 0x06) return operand;
    if (code === 0x20) accumulator = words[operand]!;
    else if (code === 0x15) at += accumulator === operand ? whenTrue : whenFalse;
    else if (code === 0x35) at += accumulator >= operand ? whenTrue : whenFalse;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the filter has no end");
}

Deno.test("socketFilter() lets sockets of the internet be made, and of no other family", () => {
  for (const [machine, arch, number] of [["x86_64", X86, 41], ["aarch64", ARM, 198]] as const) {
    const filter = socketFilter(machine, "internet")!;
    const allowed = Array.from({ length: 64 }, (_, family) => family)
      .filter((argument) => judge(filter, { arch, number, argument }) === ALLOWED);
    assertEquals(allowed, [2, 10, 16]);
    assertEquals(judge(filter, { arch, number, argument: 1 }), refused(97));
    const none = socketFilter(machine, "none")!;
    for (let argument = 0; argument < 64; argument++) {
      assertEquals(judge(none, { arch, number, argument }), refused(97));
    }
  }
});

Deno.test("socketFilter() refuses what opens sockets behind its back, keyrings, and every other interface", () => {
  const filter = socketFilter("x86_64", "internet")!;
  for (const number of [425, 426, 427]) assertEquals(judge(filter, { arch: X86, number }), refused(38));
  for (const number of [248, 249, 250, 298, 321, 323]) assertEquals(judge(filter, { arch: X86, number }), refused(1));
  // The interface with 32-bit pointers, and the calls of 32-bit programs.
  assertEquals(judge(filter, { arch: X86, number: 0x40000000 + 41, argument: 2 }), refused(38));
  assertEquals(judge(filter, { arch: 0x40000003, number: 359, argument: 1 }), refused(38));
});

Deno.test("socketFilter() lets everything else through", () => {
  for (const [machine, arch] of [["x86_64", X86], ["aarch64", ARM]] as const) {
    const filter = socketFilter(machine, "internet")!;
    let count = 0;
    for (let number = 0; number < 470; number++) if (judge(filter, { arch, number, argument: 2 }) === ALLOWED) count++;
    assertEquals(count, 470 - 9);
  }
});

Deno.test("socketFilter() knows no filter for a machine whose numbers it does not know", () => {
  for (const machine of ["riscv64", "toString", ""]) assert(socketFilter(machine, "none") === null);
});
