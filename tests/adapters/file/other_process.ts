/**
 * The other process of the storage contract, over a pipe: JSON lines in, JSON lines out. Runs in Deno and in Node.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { openFileStorage } from "../../../src/adapters/file/mod.ts";
import {
  type OtherAnswer,
  type OtherCommand,
  type OtherProcess,
  OtherSide,
} from "../../../src/testing/storage_contract.ts";

interface Message {
  readonly root: string;
  readonly command: OtherCommand;
}

/** One child process, shared by cases that each have a root of their own. */
export class PipedProcess {
  readonly #command: readonly string[];
  #child: ChildProcess | null = null;
  /** Who waits for an answer, in the order of the questions. */
  #waiting: PromiseWithResolvers<OtherAnswer>[] = [];

  /** @param command what starts a process that calls `serveOther()` */
  constructor(command: readonly string[]) {
    this.#command = command;
  }

  /** The process, as a case with this root sees it. */
  for(root: string): OtherProcess {
    return { run: (command) => this.#run({ root, command }), kill: () => this.kill() };
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  #run(message: Message): Promise<OtherAnswer> {
    this.#child ??= this.#start();
    const answer = Promise.withResolvers<OtherAnswer>();
    this.#waiting.push(answer);
    this.#child.stdin?.write(JSON.stringify(message) + "\n");
    return answer.promise;
  }

  #start(): ChildProcess {
    const [program = "", ...args] = this.#command;
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#waiting = [];
    if (child.stdout === null) throw new TypeError("Cannot talk to the other process: it has no output");
    createInterface({ input: child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(JSON.parse(line)));
    const waiting = this.#waiting;
    const fail = (reason: unknown) => {
      for (const { reject } of waiting.splice(0)) reject(new Error("the other process is gone", { cause: reason }));
    };
    child.once("error", fail);
    child.once("close", fail);
    return child;
  }
}

/** Answers commands from standard input until it ends. */
export async function serveOther(): Promise<void> {
  const sides = new Map<string, OtherSide>();
  for await (const line of createInterface({ input: process.stdin })) {
    const { root, command } = JSON.parse(line) as Message;
    const side = sides.get(root) ?? new OtherSide(openFileStorage({ root }));
    sides.set(root, side);
    process.stdout.write(JSON.stringify(await side.run(command)) + "\n");
  }
}
