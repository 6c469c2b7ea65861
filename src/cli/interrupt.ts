/**
 * Ctrl-C: the first one cancels, the second one ends the process. A terminal that is closed: cancels and ends.
 *
 * @module
 */
import type { Host } from "./host.ts";
import type { ExitCode } from "./command.ts";
import { type Output, OutputFailed } from "./output.ts";
import { firstOf } from "./report.ts";
import type { Terminal } from "./terminal.ts";

/** The exit code of a process that Ctrl-C ended: 128 and the number of SIGINT. */
const INTERRUPTED_EXIT_CODE = 130;
/** The exit code of a command whose terminal hung up: 128 and the number of SIGHUP. */
export const HUNG_UP_EXIT_CODE = 129;

/**
 * Runs `work` with a signal that aborts when the terminal hangs up (SIGHUP); `work` then comes to its end by itself. A second
 * SIGHUP does nothing: a terminal that is closed sends one, and its shell another.
 *
 * @returns HUNG_UP_EXIT_CODE when it hung up, else what `work` returned
 */
export async function withHangup(
  host: Pick<Host, "onHangup">,
  work: (hangup: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  const hangup = new AbortController();
  const stopListening = host.onHangup(() => hangup.abort());
  try {
    const code = await work(hangup.signal);
    return hangup.signal.aborted ? HUNG_UP_EXIT_CODE : code;
  } catch (error) {
    // What is written to a terminal that is gone is lost, and there is nobody to tell.
    if (hangup.signal.aborted && firstOf(error) instanceof OutputFailed) return HUNG_UP_EXIT_CODE;
    throw error;
  } finally {
    stopListening();
  }
}

/**
 * Runs `work` with Ctrl-C, SIGINT and SIGTERM as its cancel: the first one calls `cancel`, a second one ends the process at
 * once. What was durable stays, and the next start says what is true.
 */
export async function withInterrupt<Result>(
  { host, out, terminal }: { readonly host: Host; readonly out: Output; readonly terminal: Terminal | null },
  cancel: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  let presses = 0;
  const onInterrupt = () => {
    if (++presses > 1) {
      terminal?.close(); // Gives the terminal back its echo.
      return host.exit(INTERRUPTED_EXIT_CODE);
    }
    out.note("\nCancelling (Ctrl-C again to stop at once)");
    cancel();
  };
  terminal?.onInterrupt(onInterrupt);
  const stopListening = host.onInterrupt(onInterrupt);
  try {
    return await work();
  } finally {
    stopListening();
    terminal?.onInterrupt(null);
  }
}
