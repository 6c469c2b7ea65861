/**
 * The last thing before the command: its limits, and the word that it starts now.
 *
 * @module
 */

/**
 * Sets the limits of a process, says the token on standard error and becomes the command.
 *
 * The token is drawn for each run. What stands before it on standard error comes from the runner, so whether the runner refused
 * or the command failed is never guessed from words that both can print. Arguments: token, KiB of memory, processes (0 = none).
 */
export const START = `
token=$1
{ ulimit -c 0; ulimit -d "$2"; [ "$3" = 0 ] || ulimit -p "$3" || ulimit -u "$3"; } 2>/dev/null
shift 3; printf %s "$token" >&2; exec "$@"
`;

/** How much a runner may say before the token. */
export const RUNNER_MESSAGE_BYTES_MAX = 16 * 1024;

/**
 * Takes the token, and all that came before it, out of a stream.
 *
 * @example
 * ```ts
 * import { StartWatch } from "./start.ts";
 *
 * const watch = new StartWatch("go");
 * const own = watch.take(new TextEncoder().encode("runner: hm\ngohello"));
 * if (new TextDecoder().decode(own) !== "hello" || watch.runnerMessage !== "runner: hm") throw new Error("unreachable");
 * ```
 */
export class StartWatch {
  readonly #token: Uint8Array;
  /** Empty once the token was seen. */
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #hasStarted = false;

  /** Waits for this token. */
  constructor(token: string) {
    this.#token = new TextEncoder().encode(token);
  }

  /** Whether the token was seen. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** What the runner said before the token; cut at RUNNER_MESSAGE_BYTES_MAX. */
  get runnerMessage(): string {
    return new TextDecoder().decode(this.#held).trim();
  }

  /** Takes the next bytes of standard error and returns those that are the command's. */
  take(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    if (this.#hasStarted) return bytes;
    const all = new Uint8Array(this.#held.length + bytes.length);
    all.set(this.#held);
    all.set(bytes, this.#held.length);
    const at = indexOf(all, this.#token);
    if (at >= 0) {
      this.#hasStarted = true;
      this.#held = all.slice(0, at);
      return all.slice(at + this.#token.length);
    }
    // A token cut in two must survive the cut.
    const keepBytes = RUNNER_MESSAGE_BYTES_MAX + this.#token.length;
    this.#held = all.length > keepBytes ? all.slice(all.length - keepBytes) : all;
    return new Uint8Array(0);
  }
}

function indexOf(bytes: Uint8Array, part: Uint8Array): number {
  for (let at = 0; at + part.length <= bytes.length; at++) {
    if (part.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}
