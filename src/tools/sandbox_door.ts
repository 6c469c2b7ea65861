/**
 * A door to the sandbox of a server, for whoever cannot start processes: one request per command, under its effect key.
 *
 * The server runs a key once and remembers it. So a request whose answer was lost is simply sent again, and what became of a
 * command that nobody waits for any more can be asked afterwards.
 *
 * @module
 */
import { SandboxUnavailableError } from "../errors.ts";
import { type EffectLookup, type LookupAnswer, messageOf, outcomeUnknown, ToolError } from "../tool/mod.ts";
import { neverSent } from "./never_sent.ts";
import {
  type SandboxDoor,
  SHELL_MODES,
  type ShellCommand,
  type ShellEnd,
  type ShellLimits,
  type ShellWatch,
} from "./shell_door.ts";

/** How long one request waits for the end of a command, in milliseconds. Then it is asked again. */
export const EXEC_WAIT_MS = 25_000;
/** How long a lookup waits for the end of a command that still runs, in milliseconds. */
export const SETTLE_WAIT_MS = 8_000;
/** How long a person's question waits for what the server says it never gives, in milliseconds. Then the question is put. */
export const LIMITS_WAIT_MS = 3_000;
/** How often in a row a request whose answer was lost is sent again. */
export const RESENDS_MAX = 3;
/** How long is waited before it is sent again, in milliseconds; each time twice as long. */
export const RESEND_PAUSE_MS = 500;
/** The largest answer that is read, in UTF-16 units. */
const ANSWER_LENGTH_MAX = 4 * 1024 * 1024;

/** Where the server is. */
export interface SandboxDoorOptions {
  /**
   * The address of the endpoint, such as `https://host.example/v1/sandbox/exec`.
   *
   * The ledger of what ran belongs to the server and the token. Asked at another place, or with another token, it knows nothing
   * of what was sent here.
   */
  readonly endpoint: string | URL;
  /** The bearer token, or what gives it. Default: none is sent. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sends the requests. */
  readonly fetch: typeof globalThis.fetch;
  /** Waits, before a request is sent again. Default: the runtime's timer. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** A door, and what can be asked afterwards. */
export interface RemoteDoor extends SandboxDoor {
  /** What became of a command, by its effect key; for the `reconcile` of a tool. */
  readonly reconcile: (lookup: Pick<EffectLookup<unknown>, "effectKey" | "signal">) => Promise<LookupAnswer<string>>;
}

/** What the server says of a key. */
interface Told {
  readonly status?: undefined;
  readonly state: "unseen" | "running" | "finished" | "refused" | "absent" | "forgotten" | "undecidable";
  readonly outcome?: ShellEnd;
  readonly refusal?: { readonly code: string; readonly message: string };
}

/** An answer that is no state: a problem, or what something between us and the server says. */
interface Problem {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** What the ledger knows of the key, when that is the problem. */
  readonly state: string | null;
}

/**
 * Makes a door to a server.
 *
 * @param textOf what a model reads of a command that has ended
 *
 * @example
 * ```ts
 * import { sandboxDoor } from "./sandbox_door.ts";
 *
 * const fetch = () => Promise.resolve(Response.json({ effectKey: "0".repeat(32), state: "absent" }));
 * const door = sandboxDoor({ endpoint: "http://localhost:8787/v1/sandbox/exec", fetch }, () => "");
 * const { signal } = new AbortController();
 * const { verdict } = await door.reconcile({ effectKey: "0".repeat(32), signal });
 * if (verdict !== "absent") throw new Error("unreachable");
 * ```
 */
export function sandboxDoor(options: SandboxDoorOptions, textOf: (ended: ShellEnd) => string): RemoteDoor {
  const base = new URL(options.endpoint).href.replace(/\/$/, "");
  const pause = options.pause ?? ((ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)));

  async function send(path: string, init: RequestInit): Promise<Response> {
    const token = typeof options.token === "function" ? await options.token() : options.token;
    return await options.fetch(`${base}${path}`, {
      ...init,
      headers: { ...init.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      credentials: "omit",
      redirect: "error",
    });
  }

  async function post(path: string, body: unknown, signal?: AbortSignal): Promise<Told | Problem> {
    const headers = { "content-type": "application/json" };
    const response = await send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
    return readAnswer(response.status, await response.text());
  }

  /** What cannot be learnt in time is not known: the question is put, and the server refuses what it must. */
  async function limits(): Promise<ShellLimits | null> {
    const late = new AbortController();
    const gaveUp = Promise.withResolvers<null>();
    late.signal.addEventListener("abort", () => gaveUp.resolve(null));
    const timer = setTimeout(() => late.abort(), LIMITS_WAIT_MS);
    const asked = send("", { signal: late.signal }).then((response) => response.text()).then(readLimits)
      .catch(() => null);
    try {
      return await Promise.race([asked, gaveUp.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function runCommand(command: ShellCommand, { signal }: ShellWatch): Promise<ShellEnd> {
    const { effectKey, argv, mode, network, cwd, timeMs } = command;
    const body = { effectKey, argv, mode, network, timeoutMs: timeMs, ...(cwd === undefined ? {} : { cwd }) };
    /** Whether the server may have got the command. It decides what a failure means. */
    let mayHaveArrived = false;
    let failures = 0;
    signal.throwIfAborted();
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => {});
    const cancel = () => void post(`/${effectKey}/cancel`, {}).catch(() => {});
    const onAbort = () => {
      // Who only leaves, as a page that is closed, wants to find the command done when he is back.
      if (isLeaving(signal)) left.reject(outcomeUnknown("the session was closed while the command ran on the server"));
      else cancel();
    };
    signal.addEventListener("abort", onAbort);
    try {
      for (;;) {
        let answer: Told | Problem;
        try {
          // Not given the signal: a cancelled command still has an end, and that is waited for.
          answer = await Promise.race([post("", { ...body, waitMs: EXEC_WAIT_MS }), left.promise]);
          if (isPassing(answer)) throw new Error(`${answer.status} ${answer.code}: ${answer.detail}`);
        } catch (error) {
          if (isLeaving(signal)) await left.promise;
          mayHaveArrived ||= !neverSent(error);
          if (!mayHaveArrived) {
            throw new ToolError("SANDBOX_UNREACHABLE", `the command was not sent: ${messageOf(error)}`);
          }
          if (signal.aborted || ++failures > RESENDS_MAX) {
            throw outcomeUnknown(`the server does not answer any more (${messageOf(error)})`, error);
          }
          await Promise.race([pause(RESEND_PAUSE_MS * 2 ** (failures - 1)), left.promise]);
          continue;
        }
        failures = 0;
        if (answer.status !== undefined) throw refusalOf(answer, command, mayHaveArrived);
        if (answer.state === "finished") return answer.outcome!;
        mayHaveArrived = true;
        // A cancel that came before the command did has found nothing to end.
        if (signal.aborted) cancel();
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async function reconcile(
    { effectKey, signal }: Pick<EffectLookup<unknown>, "effectKey" | "signal">,
  ): Promise<LookupAnswer<string>> {
    const told = await post(`/${effectKey}/settle`, { waitMs: SETTLE_WAIT_MS }, signal);
    if (told.status !== undefined) {
      return { verdict: "undecidable", note: `the server answered ${told.status} ${told.code}` };
    }
    return lookupOf(told, textOf);
  }

  return { runCommand, limits, reconcile };
}

/** Whether it aborts because the session is closed, and not because somebody wants the work to end. */
function isLeaving({ aborted, reason }: AbortSignal): boolean {
  const cause = (reason as { readonly abortCause?: { readonly kind?: unknown } } | undefined)?.abortCause;
  return aborted && cause?.kind === "disposed";
}

/** What the state of a key means for a call. */
function lookupOf({ state, outcome, refusal }: Told, textOf: (ended: ShellEnd) => string): LookupAnswer<string> {
  switch (state) {
    case "finished": {
      const ended = outcome!;
      if (!ended.hasStarted) return { verdict: "absent", note: "the command was not started" };
      if (ended.ending === "exited" || ended.ending === "output-limit") {
        return { verdict: "happened", result: textOf(ended) };
      }
      // It may have done all, some or nothing of what it was for.
      return { verdict: "undecidable", note: `the command ran and was ended early (${ended.ending})` };
    }
    case "refused":
      return { verdict: "absent", note: refusal?.message };
    case "absent":
      return { verdict: "absent" };
    case "running":
      return { verdict: "undecidable", note: "the command still runs" };
    case "forgotten":
      return { verdict: "undecidable", note: "the command has run, and how it ended is not kept any more" };
    default:
      return { verdict: "undecidable", note: "the server went down while the command ran" };
  }
}

/** What a refused request means. Only the ledger's own word, or that nothing was ever sent before, proves that nothing ran. */
function refusalOf({ status, code, detail, state }: Problem, { argv }: ShellCommand, mayHaveArrived: boolean): Error {
  if (code === "SANDBOX_UNAVAILABLE" && (state === "refused" || !mayHaveArrived)) {
    return new SandboxUnavailableError(detail || `Cannot confine command "${argv[0]}": the server has no sandbox`);
  }
  if (code === "EFFECT_GONE" && state === "absent") return new ToolError(code, `the command did not run: ${detail}`);
  const isOpen = mayHaveArrived || state === "undecidable" || state === "forgotten";
  if (isOpen) return outcomeUnknown(`the server answered ${status} ${code}: ${detail}`);
  return new ToolError(code, `the command did not run: ${detail || `the server answered ${status}`}`);
}

/** Whether sending the same again may help, and nothing is known until then. */
function isPassing(answer: Told | Problem): answer is Problem {
  if (answer.status === undefined) return false;
  const { status, code } = answer;
  return status >= 500 && code !== "SANDBOX_UNAVAILABLE" && code !== "LEDGER_FULL" && code !== "DRAINING";
}

/** `null` for whatever else answers: a server that does not know the question, or no server of ours. */
function readLimits(text: string): ShellLimits | null {
  const { modeMax, allowNetwork } = JSON.parse(text) as Partial<ShellLimits>;
  const mode = SHELL_MODES.find((each) => each === modeMax);
  return mode === undefined || typeof allowNetwork !== "boolean" ? null : { modeMax: mode, allowNetwork };
}

function readAnswer(status: number, text: string): Told | Problem {
  let value: unknown;
  try {
    value = text.length > ANSWER_LENGTH_MAX ? null : JSON.parse(text);
  } catch {
    value = null;
  }
  const fields = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  if ((status === 200 || status === 202) && typeof fields["state"] === "string") return fields as unknown as Told;
  return {
    status,
    code: typeof fields["code"] === "string" ? fields["code"] : "NO_ANSWER",
    detail: typeof fields["detail"] === "string" ? fields["detail"] : "",
    state: typeof fields["state"] === "string" ? fields["state"] : null,
  };
}
