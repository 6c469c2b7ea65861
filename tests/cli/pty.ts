/**
 * A real terminal for tests: the command runs behind a pseudo-terminal that `script` (util-linux) makes.
 *
 * @module
 */
import { COMMAND } from "./cli.ts";

/** How long a screen may take to show something before the test gives up, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Whether this machine has `script`; says which cases are left out when it has not. */
export function hasScript(cases: number): boolean {
  try {
    const { stdout } = new Deno.Command("script", { args: ["--version"], stdout: "piped", stderr: "null" })
      .outputSync();
    if (new TextDecoder().decode(stdout).includes("util-linux")) return true;
  } catch {
    // It is not there.
  }
  console.log(`${cases} cases not run: there is no script command of util-linux (the command in a terminal)`);
  return false;
}

/** The command in a terminal, and a person who waits for what it says before typing. */
export class Pty implements AsyncDisposable {
  /** Everything on the screen so far, as it came. */
  screen = "";
  readonly #child: Deno.ChildProcess;
  readonly #keyboard: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  readonly #codeFile: string;
  #onNews: () => void = () => {};
  /** How much of the screen was waited for. */
  #seen = 0;
  #isLate = false;
  #isOver = false;

  /**
   * Starts the command, whose process id is written to the file `pid` in `cwd`.
   *
   * @param options.isFollowed when it has ended, the screen shows the terminal's settings
   * @param options.isSurvived somebody outlives the terminal to note the exit code, for `hangUp()`
   */
  constructor(
    args: readonly string[],
    options: {
      readonly cwd: string;
      readonly env?: Record<string, string>;
      readonly isFollowed?: boolean;
      readonly isSurvived?: boolean;
    },
  ) {
    const words = [...COMMAND, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    this.#codeFile = `${options.cwd}/code`;
    // A signal that is handled, not ignored, is as usual again in the child.
    const command = options.isSurvived === true
      ? `trap : HUP; ${words.join(" ")}; echo $? > code.tmp; mv code.tmp code`
      : options.isFollowed === true
      ? `${words.join(" ")}; code=$?; stty -a; exit $code`
      : `echo $$ > pid; exec ${words.join(" ")}`;
    this.#child = new Deno.Command("script", {
      args: ["-qec", `stty cols 200; ${command}`, "/dev/null"],
      ...{ cwd: options.cwd, env: { NO_COLOR: "1", TERM: "xterm", SHELL: "/bin/sh", ...options.env } },
      ...{ stdin: "piped", stdout: "piped", stderr: "inherit" },
    }).spawn();
    this.#keyboard = this.#child.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** Types. */
  async type(text: string): Promise<void> {
    await this.#keyboard.write(new TextEncoder().encode(text));
  }

  /** Waits until the screen shows `text` behind what earlier calls have waited for. */
  async shows(text: string): Promise<void> {
    const deadline = setTimeout(() => {
      this.#isLate = true;
      this.#onNews();
    }, PATIENCE_MS);
    try {
      for (let at = -1; at === -1;) {
        at = this.screen.indexOf(text, this.#seen);
        if (at !== -1) this.#seen = at + text.length;
        else if (this.#isOver || this.#isLate) break;
        else await this.#news();
      }
    } finally {
      clearTimeout(deadline);
    }
    if (this.screen.slice(0, this.#seen).endsWith(text)) return;
    this.#child.kill("SIGKILL");
    throw new Error(`The screen never showed ${JSON.stringify(text)}:\n${this.screen}`);
  }

  /** Waits for the end and returns the exit code. */
  async ended(): Promise<number> {
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }

  /** Closes the terminal under the command, waits for the end of that, and returns its exit code. */
  async hangUp(): Promise<number> {
    const watcher = Deno.watchFs(this.#codeFile.slice(0, this.#codeFile.lastIndexOf("/")), { recursive: false });
    const deadline = setTimeout(() => watcher.close(), PATIENCE_MS);
    try {
      this.#child.kill("SIGKILL");
      for await (const { paths } of watcher) if (paths.includes(this.#codeFile)) break;
      return Number(await Deno.readTextFile(this.#codeFile));
    } finally {
      clearTimeout(deadline);
      await this.#child.status;
      await this.#reading;
      await this.#keyboard.abort().catch(() => {});
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#keyboard.close().catch(() => {});
    await this.ended();
  }

  async #news(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onNews = resolve;
    await promise;
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.screen += text;
      this.#onNews();
    }
    this.#isOver = true;
    this.#onNews();
  }
}
