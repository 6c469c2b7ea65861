/**
 * Ctrl-C: the first one cancels, the second one ends the process.
 *
 * @module
 */
import type { Host } from "./host.ts";
import type { Output } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/** The exit code of a process that Ctrl-C ended: 128 and the number of SIGINT. */
const INTERRUPTED_EXIT_CODE = 130;

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
