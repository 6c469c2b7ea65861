/**
 * A process that a test starts and may kill.
 *
 * @module
 */
import { repositoryDir } from "../support/paths.ts";

/** A program of this folder, with one argument as JSON. Whatever happens, it is dead when its scope ends. */
export class Child implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #stderr: Promise<string>;

  /**
   * @param program a file in this folder
   * @param order its argument
   * @param prefix a command that ends with executing its arguments, like `["unshare", "--mount", "--"]`
   */
  constructor(program: string, order: unknown, prefix: readonly string[] = []) {
    const command = [
      ...[...prefix, Deno.execPath(), "run", "-A", "--config", `${repositoryDir}/deno.json`],
      ...[`${repositoryDir}/tests/kill/${program}`, JSON.stringify(order)],
    ];
    this.#child = new Deno.Command(command[0]!, {
      args: command.slice(1),
      cwd: repositoryDir,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#lines = linesOf(this.#child.stdout)[Symbol.asyncIterator]();
    this.#stderr = new Response(this.#child.stderr).text();
  }

  /** Writes a line to its standard input. */
  async tell(line: string): Promise<void> {
    const writer = this.#child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(line + "\n"));
    writer.releaseLock();
  }

  /** The next line it prints. @throws {Error} when there is none, or another one than `wanted` */
  async line(wanted?: string): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`The child printed its last line: ${await this.#stderr}`);
    if (wanted !== undefined && value !== wanted) throw new Error(`The child printed "${value}", not "${wanted}"`);
    return value;
  }

  /** Everything it prints until it ends by itself. @throws {Error} when it fails */
  async output(): Promise<string> {
    let text = "";
    for (let next = await this.#lines.next(); next.done !== true; next = await this.#lines.next()) text += next.value;
    const { code, signal } = await this.#child.status;
    if (code !== 0) throw new Error(`The child ended with ${signal ?? code}: ${await this.#stderr}`);
    return text;
  }

  /** SIGKILL. Resolves when it is gone. @returns whether it was the kill that ended it */
  async kill(): Promise<boolean> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It ended by itself.
    }
    const { code, signal } = await this.#child.status;
    if (signal !== "SIGKILL" && code !== 0) {
      throw new Error(`The child ended with ${signal ?? code} before its kill: ${await this.#stderr}`);
    }
    return signal === "SIGKILL";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill().catch(() => {});
    while ((await this.#lines.next()).done !== true);
    await this.#stderr;
    await this.#child.stdin.close().catch(() => {});
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
  if (rest !== "") yield rest;
}
