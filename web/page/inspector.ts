/**
 * Looks at files in a worker of their own, which is fetched when the first file comes.
 *
 * @module
 */
import type { FileReport, InspectAnswer, InspectAsk, MadeLog } from "../inspect_protocol.ts";

/** A file that was looked at, until it is let go. */
export interface LookedAtFile {
  readonly report: FileReport;
  /** The logs to take in. Rejects with a `WireError`. */
  make(how: "import" | "salvage", keep?: readonly string[]): Promise<readonly MadeLog[]>;
  /** Ends the worker, whatever it does. Twice is harmless. */
  close(): void;
}

/**
 * Looks at a file, of which the bytes can still be used afterwards. Resolves with `null` when there is no worker to do so; rejects
 * when the signal aborts.
 */
export type LookAt = (
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
) => Promise<LookedAtFile | null>;

/** Looks at a file in the worker that lies beside the page's script. */
export const lookAtFile: LookAt = async (name, bytes, signal) => {
  const worker = new Worker(new URL("./inspector.js", import.meta.url), { type: "module" });
  const close = () => worker.terminate();
  try {
    const looked = await asked(worker, { verb: "look", name, bytes }, signal);
    if (looked.verb !== "look") {
      throw looked.verb === "refusal" ? looked.error : new Error("the inspector said something else");
    }
    const { report } = looked;
    return {
      report,
      close,
      async make(how, keep) {
        const made = await asked(worker, { verb: "make", how, ...(keep === undefined ? {} : { keep }) });
        if (made.verb === "make") return made.logs;
        throw made.verb === "refusal" ? made.error : new Error("the inspector said something else");
      },
    };
  } catch (error) {
    close();
    // A host without the file for this worker is no reason not to take a log in.
    if (error === NO_WORKER) return null;
    throw error;
  }
};

const NO_WORKER = new Error("the inspector did not start, or died");

function asked(worker: Worker, ask: InspectAsk, signal?: AbortSignal): Promise<InspectAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<InspectAnswer>();
  signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  worker.onmessage = ({ data }: MessageEvent<InspectAnswer>) => resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    reject(NO_WORKER);
  };
  worker.postMessage(ask);
  return promise;
}
