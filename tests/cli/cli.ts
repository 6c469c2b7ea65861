/**
 * Runs the `holdfast` command for tests: inside this process with a made-up host, or as a process of its own.
 *
 * @module
 */
import type { Host } from "../../src/cli/host.ts";
import { main } from "../../src/cli/main.ts";
import { createOutput, type Output } from "../../src/cli/output.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { encodeHeader, encodeRow, type SessionEvent, type SessionHeader } from "../../src/event/mod.ts";
import { encodeZstdFrame } from "../../src/entry/file.ts";
import { logPath } from "../../src/journal/layout.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { repositoryDir } from "../support/paths.ts";

/** What one command line came to. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What surrounds a command that runs in this process. */
export interface Surroundings {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What comes through the pipe. */
  readonly input?: string;
  /** Who sits at the terminal; without one there is none. */
  readonly terminal?: FakeTerminal;
  readonly clock?: Clock;
  /** Given the function that interrupts the command. */
  readonly onListening?: (interrupt: () => void) => void;
  /** Given the function that closes the terminal of the command. */
  readonly onHangupListening?: (hangUp: () => void) => void;
  /** Told that the command ended the process. */
  readonly onExit?: (code: number) => void;
  /** Told each piece of standard output as it comes. */
  readonly onOutput?: (text: string) => void;
}

const standingClock: Clock = { now: () => Date.now(), schedule: () => () => {} };

/** Runs a command line in this process. */
export async function holdfast(args: readonly string[], surroundings: Surroundings): Promise<Ran> {
  const { cwd, env = {}, input = "", terminal, clock = standingClock } = surroundings;
  const { onListening, onHangupListening, onExit, onOutput } = surroundings;
  let stdout = "";
  let stderr = "";
  const decoder = new TextDecoder();
  const output = (isJson: boolean): Output =>
    createOutput(isJson, {
      clock,
      isTerminal: terminal !== undefined,
      isErrorTerminal: terminal !== undefined,
      print(chunk) {
        const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
        stdout += text;
        onOutput?.(text);
      },
      settled: () => Promise.resolve(),
      complain: (text) => void (stderr += text),
    });
  const host: Host = {
    ...{ env, cwd, clock, output, hasTerminal: terminal !== undefined },
    openTerminal: () => terminal!,
    readInput: () => Promise.resolve(input),
    onInterrupt(handler) {
      onListening?.(handler);
      return () => {};
    },
    onHangup(handler) {
      onHangupListening?.(handler);
      return () => {};
    },
    exit: (code) => onExit?.(code),
  };
  const code = await main(args, host);
  return { code, stdout, stderr };
}

/** Runs a command line in this process and reads its document; fails when standard output is anything else. */
// deno-lint-ignore no-explicit-any -- a document is whatever its command prints
export async function document(args: readonly string[], surroundings: Surroundings): Promise<Ran & { json: any }> {
  const ran = await holdfast([...args, "--json"], surroundings);
  return { ...ran, json: JSON.parse(ran.stdout) };
}

/** A person who answers from a list; what is left open is Ctrl-D. */
export class FakeTerminal implements Terminal {
  /** What was asked, in order. */
  readonly asked: string[] = [];
  interrupt: (() => void) | null = null;
  isClosed = false;
  readonly #answers: (string | ((terminal: FakeTerminal) => string | null | Promise<string | null>))[];

  constructor(...answers: (string | ((terminal: FakeTerminal) => string | null | Promise<string | null>))[]) {
    this.#answers = answers;
  }

  ask(prompt: string): Promise<string | null> {
    return this.confirm(prompt);
  }

  async confirm(question: string, signal?: AbortSignal): Promise<string | null> {
    this.asked.push(question);
    const answer = this.#answers.shift() ?? null;
    const text = typeof answer === "function" ? await answer(this) : answer;
    return signal?.aborted ? null : text;
  }

  onInterrupt(handler: (() => void) | null): void {
    this.interrupt = handler;
  }

  onUnasked(): void {}

  close(): void {
    this.isClosed = true;
  }
}

/** The arguments that make Deno run the command. */
export const COMMAND: readonly string[] = [
  Deno.execPath(),
  "run",
  "-A",
  "--config",
  `${repositoryDir}/deno.json`,
  `${repositoryDir}/src/cli/main.ts`,
];

/** Starts a command line as a process of its own. */
export function spawnHoldfast(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Record<string, string>; readonly stdin?: "piped" | "null" },
): Deno.ChildProcess {
  const { cwd, env = {}, stdin = "null" } = options;
  const [program, ...rest] = COMMAND;
  return new Deno.Command(program!, {
    args: [...rest, ...args],
    ...{ cwd, env: { NO_COLOR: "1", ...env }, stdin, stdout: "piped", stderr: "piped" },
  }).spawn();
}

/** Runs a command line as a process of its own, to its end. */
export async function holdfastProcess(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Record<string, string>; readonly input?: string },
): Promise<Ran> {
  const { cwd, env, input } = options;
  const child = spawnHoldfast(args, { cwd, env, stdin: input === undefined ? "null" : "piped" });
  if (input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

/** A folder that is gone when the test is over. */
export class TempFolder implements AsyncDisposable {
  readonly path: string;

  constructor() {
    this.path = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "holdfast-cli-" }));
  }

  /** The root that the command uses when it is started here and told nothing else. */
  get root(): string {
    return `${this.path}/.holdfast`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }

  /** Every file and folder below, with its content, for comparing. */
  snapshot(below = ""): Record<string, string> {
    const found: Record<string, string> = {};
    for (const { name, isDirectory } of Deno.readDirSync(`${this.path}/${below}`)) {
      const path = `${below}${name}`;
      found[path] = isDirectory ? "folder" : Deno.readFileSync(`${this.path}/${path}`).toBase64();
      if (isDirectory) Object.assign(found, this.snapshot(`${path}/`));
    }
    return found;
  }
}

/** A header as it is in a log. */
export function headerOf(id: string, change: Partial<SessionHeader> = {}): SessionHeader {
  return { type: "session", version: 3, id, createdAt: 1000, isSeeded: false, delegationDepth: 0, ...change };
}

/** How a log file is written. */
export interface LogFileOptions {
  readonly encoding?: "zstd" | "none";
  readonly header?: SessionHeader;
  /** How many events each frame holds; default: all in one. */
  readonly frames?: readonly number[];
}

/** A log file as bytes, and where each of its frames (raw: lines) ends. */
export function logBytes(
  id: string,
  events: readonly SessionEvent[],
  { encoding = "zstd", header = headerOf(id), frames = [events.length] }: LogFileOptions = {},
): { bytes: Uint8Array<ArrayBuffer>; ends: number[] } {
  const rows = events.map(encodeRow);
  const parts: Uint8Array[] = [];
  if (encoding === "none") {
    for (const line of [encodeHeader(header), ...rows]) parts.push(new TextEncoder().encode(`${line}\n`));
  } else {
    parts.push(encodeZstdFrame([encodeHeader(header)]));
    let next = 0;
    for (const count of frames) {
      if (count > 0) parts.push(encodeZstdFrame(rows.slice(next, next + count)));
      next += count;
    }
  }
  const ends: number[] = [];
  let size = 0;
  for (const part of parts) ends.push(size += part.length);
  const bytes = new Uint8Array(size);
  for (const [index, part] of parts.entries()) bytes.set(part, ends[index]! - part.length);
  return { bytes, ends };
}

/** Writes a session's log to its place below a root, byte by byte as another program might. Returns its path. */
export function writeLog(
  root: string,
  id: string,
  content: readonly SessionEvent[] | Uint8Array<ArrayBuffer>,
  options: LogFileOptions = {},
): string {
  const { encoding = "zstd", header = headerOf(id) } = options;
  const path = `${root}/${logPath(header, encoding)}`;
  Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
  const bytes = content instanceof Uint8Array ? content : logBytes(id, content, options).bytes;
  Deno.writeFileSync(path, bytes, { mode: 0o600 });
  return path;
}
