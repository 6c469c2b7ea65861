/**
 * The kill schedule over processes and files: each is ended with SIGKILL.
 *
 * @module
 */
import { killEverywhere, type KillResult, type Life, type Order } from "./kill_schedule.ts";

/** Runs the schedule; `command` starts a program that takes an order and a root. */
export async function killProcesses(command: readonly string[]): Promise<KillResult> {
  const root = await Deno.makeTempDir({ prefix: "holdfast-kill-schedule-" });
  try {
    return await killEverywhere((order) => Promise.resolve(start(command, order, root)));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

function start([program, ...args]: readonly string[], order: Order, root: string): Life {
  const child = new Deno.Command(program!, {
    args: [...args, JSON.stringify(order), root],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    async hear() {
      while (!text.includes("\n")) {
        const { value, done } = await reader.read();
        if (done) throw new Error("the process ended without a word");
        text += value;
      }
      const end = text.indexOf("\n");
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      return JSON.parse(line);
    },
    tell: (answer) => void writer.write(new TextEncoder().encode(JSON.stringify(answer) + "\n")).catch(() => {}),
    async kill() {
      try {
        child.kill("SIGKILL");
      } catch {
        // It ended by itself.
      }
      await child.status;
      await reader.cancel();
      await writer.close().catch(() => {});
    },
  };
}
