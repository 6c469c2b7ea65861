/**
 * A program: gives up its rights and becomes another program.
 *
 * Arguments: `--abi` prints the version of the kernel's interface and does nothing else. Or: `--ro PATH` and `--rw PATH`, `--network off|on`, `--env NAME=VALUE`, `--cwd PATH`, `--`, the command line.
 * When it cannot give up a right that this kernel knows, it says so on standard error, after `landlock-run: `, and ends with 125.
 *
 * @see linux/landlock.h, man 2 landlock_create_ruleset
 * @module
 */
import { cString, type Libc, openLibc } from "./libc.ts";
import { socketFilter } from "./seccomp.ts";

const EXIT_REFUSED = 125;

// Numbers of system calls; the first three are the same on every machine.
const LANDLOCK_CREATE_RULESET = 444;
const LANDLOCK_ADD_RULE = 445;
const LANDLOCK_RESTRICT_SELF = 446;
const CLOSE_RANGE = 436;
const BY_MACHINE = {
  x86_64: { openat: 257, capset: 126, prctl: 157 },
  aarch64: { openat: 56, capset: 91, prctl: 167 },
} as const;

const VERSION_FLAG = 1;
const RULE_PATH_BENEATH = 1;
const AT_FDCWD = -100;
const O_PATH_CLOEXEC = 0o12000000;
const CLOSE_RANGE_CLOEXEC = 4;

const PR_SET_SECCOMP = 22;
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_MODE_FILTER = 2n;
const SIGPIPE = 13;
const CAPABILITY_VERSION_3 = 0x20080522;
const CAPABILITIES_MAX = 64;

const EXECUTE = 1n << 0n;
const WRITE_FILE = 1n << 1n;
const READ_FILE = 1n << 2n;
const READ_DIR = 1n << 3n;
const TRUNCATE = 1n << 14n;
const IOCTL_DEV = 1n << 15n;
/** What may be granted on a file that is no folder. */
const OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const READING = EXECUTE | READ_FILE | READ_DIR;
/** The rights of the first version, and what later versions added: moving between folders, cutting, device control. */
const RIGHTS_BY_ABI: readonly (readonly [abi: number, rights: bigint])[] = [
  [1, (1n << 13n) - 1n],
  [2, 1n << 13n],
  [3, TRUNCATE],
  [5, IOCTL_DEV],
];
const TCP_BIND_AND_CONNECT = 3n;
const SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3n;

if (import.meta.main) {
  if (Deno.args[0] === "--abi") console.log(openLibc().syscall(LANDLOCK_CREATE_RULESET, 0, 0, VERSION_FLAG));
  else launch(readArguments(Deno.args));
}

interface LauncherArguments {
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly network: string;
  readonly environment: readonly string[];
  readonly cwd: string;
  readonly argv: readonly string[];
}

function readArguments(args: readonly string[]): LauncherArguments {
  const end = args.indexOf("--");
  if (end < 0 || end === args.length - 1) refuse("there is no command");
  const found: Record<string, string[]> = { "--ro": [], "--rw": [], "--network": [], "--env": [], "--cwd": [] };
  for (let at = 0; at < end; at += 2) {
    const list = found[args[at]!];
    if (list === undefined || at + 1 >= end) refuse(`unknown argument ${args[at]}`);
    list.push(args[at + 1]!);
  }
  return {
    readable: found["--ro"]!,
    writable: found["--rw"]!,
    network: found["--network"]![0] ?? "off",
    environment: found["--env"]!,
    cwd: found["--cwd"]![0] ?? "/",
    argv: args.slice(end + 1),
  };
}

function launch({ readable, writable, network, environment, cwd, argv }: LauncherArguments): never {
  const libc = openLibc();
  const machine = Deno.build.arch;
  if (libc.chdir(cwd) !== 0) refuse(`cannot enter ${cwd}: errno ${libc.errno()}`);
  const abi = libc.syscall(LANDLOCK_CREATE_RULESET, 0, 0, VERSION_FLAG);
  if (abi < 1) refuse(`this kernel has no Landlock: errno ${libc.errno()}`);

  const handled = RIGHTS_BY_ABI.reduce((all, [since, rights]) => abi >= since ? all | rights : all, 0n);
  const ruleset = createRuleset(libc, abi, handled, network);
  for (const path of readable) addRule(libc, machine, ruleset, path, handled & READING);
  for (const path of writable) addRule(libc, machine, ruleset, path, handled);

  dropCapabilities(libc, machine);
  if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1n) !== 0) refuse(`no_new_privs failed: errno ${libc.errno()}`);
  if (libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) !== 0) refuse(`restrict_self failed: errno ${libc.errno()}`);
  // The last thing before the command: the filter refuses every new socket, and this process needs none.
  filterSockets(libc, machine, network);
  libc.resetSignal(SIGPIPE);
  libc.syscall(CLOSE_RANGE, 3, 0xffff_ffff, CLOSE_RANGE_CLOEXEC);
  libc.execve(argv[0]!, argv, environment);
  refuse(`cannot run ${argv[0]}: errno ${libc.errno()}`);
}

/** Three numbers; older kernels take only the first one or two. */
function createRuleset(libc: Libc, abi: number, handled: bigint, network: string): number {
  const attributes = new BigUint64Array([
    handled,
    network === "off" && abi >= 4 ? TCP_BIND_AND_CONNECT : 0n,
    abi >= 6 ? SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS : 0n,
  ]);
  const sizeBytes = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, new Uint8Array(attributes.buffer), sizeBytes, 0);
  if (ruleset < 0) refuse(`create_ruleset failed: errno ${libc.errno()}`);
  return ruleset;
}

function addRule(libc: Libc, machine: Machine, ruleset: number, path: string, rights: bigint): void {
  const { openat } = numbersOf(machine);
  const fd = libc.syscall(openat, AT_FDCWD, cString(path), O_PATH_CLOEXEC, 0);
  if (fd < 0) refuse(`cannot open ${path}: errno ${libc.errno()}`);
  const rule = new Uint8Array(12);
  const view = new DataView(rule.buffer);
  view.setBigUint64(0, Deno.statSync(path).isDirectory ? rights : rights & OF_FILES, true);
  view.setInt32(8, fd, true);
  if (libc.syscall(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0) !== 0) {
    refuse(`add_rule failed for ${path}: errno ${libc.errno()}`);
  }
}

/** Of root everything but the ownership of its files is taken; no_new_privs keeps a program from getting it back. */
function dropCapabilities(libc: Libc, machine: Machine): void {
  for (let capability = 0n; capability < CAPABILITIES_MAX; capability++) {
    if (libc.prctl(PR_CAPBSET_DROP, capability) !== 0) break;
  }
  const header = new Uint8Array(new Uint32Array([CAPABILITY_VERSION_3, 0]).buffer);
  if (libc.syscall(numbersOf(machine).capset, header, new Uint8Array(24)) !== 0) {
    refuse(`capset failed: errno ${libc.errno()}`);
  }
}

function filterSockets(libc: Libc, machine: Machine, network: string): void {
  const filter = socketFilter(machine, network === "off" ? "none" : "internet");
  if (filter === null) return;
  const program = new Uint8Array(16);
  const view = new DataView(program.buffer);
  view.setUint16(0, filter.length / 8, true);
  view.setBigUint64(8, libc.addressOf(filter), true);
  const done = libc.syscall(numbersOf(machine).prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0);
  if (done !== 0) refuse(`the filter was refused: errno ${libc.errno()}`);
}

type Machine = typeof Deno.build.arch;

function numbersOf(machine: Machine) {
  return BY_MACHINE[machine as keyof typeof BY_MACHINE] ?? refuse(`unknown machine ${machine}`);
}

function refuse(reason: string): never {
  console.error(`landlock-run: ${reason}`);
  Deno.exit(EXIT_REFUSED);
}
