/**
 * The check of what a snapshot was believed about: the beginning of the log is read after all, slowly, in the background.
 *
 * It is the same reading with the same checks as without a snapshot, and what comes out of it is compared with what the snapshot
 * said. So a damaged log is found as it would have been, only later.
 *
 * @module
 */
import { deepEqualJson } from "../../event/mod.ts";
import { keptText, logFold } from "../../fold/mod.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { StoragePort } from "../../storage/storage_port.ts";
import { type ByteSource, fileSource } from "../byte_source.ts";
import type { Finding } from "../finding.ts";
import { PREFIX_CHECK_BYTES_PER_SECOND, PREFIX_CHECK_PIECE_BYTES } from "../limits.ts";
import type { ScanOptions } from "../scan.ts";
import { startScan } from "../start_scan.ts";
import type { Snapshot } from "./snapshot.ts";

/** What a check needs. */
export interface PrefixCheckOptions extends ScanOptions {
  readonly storage: StoragePort;
  readonly clock: Clock;
  /** The log's whole name. */
  readonly log: string;
  readonly snapshot: Snapshot;
  /** Told of the first thing that is wrong. Never called after `stop()`. */
  readonly onMismatch: (finding: Finding) => void;
}

/** A check under way. */
export class PrefixCheck {
  readonly #options: PrefixCheckOptions;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #state: "running" | "passed" | "failed" | "ended" = "running";

  /** Begins. Nothing is read before the first pause is over. */
  constructor(options: PrefixCheckOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get state(): "running" | "passed" | "failed" | "ended" {
    return this.#state;
  }

  /** Ends it. Resolves when it reads nothing any more. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      const finding = await this.#look();
      if (this.#stop.signal.aborted) return void (this.#state = "ended");
      this.#state = finding === null ? "passed" : "failed";
      if (finding !== null) this.#options.onMismatch(finding);
    } catch {
      // It was stopped, or the medium cannot be read: that says nothing about the log, and whoever writes to it meets it himself.
      this.#state = "ended";
    }
  }

  /** What is wrong; `null` when nothing is. */
  async #look(): Promise<Finding | null> {
    const { snapshot, storage, log } = this.#options;
    const { coveredBytes } = snapshot;
    const scan = startScan(this.#options);
    const source = this.#paced(fileSource(storage, log));
    let folds = logFold.initial();
    let lastType: string | null = null;
    await scan.advance(source, coveredBytes, {
      visit: (event) => {
        folds = logFold.apply(folds, event);
        lastType = event.type;
      },
      signal: this.#stop.signal,
    });
    const { finding, endBytes, header, log: { nextSeq: seq } } = scan;
    if (finding !== null) return finding;
    const differs = (what: string): Finding => ({
      code: "CORRUPT_LOG",
      offsetBytes: endBytes,
      seq,
      message: `its first ${coveredBytes} bytes are not what the snapshot says that it was opened by: ${what}`,
    });
    if (header === null || endBytes !== coveredBytes) return differs(`they end at ${endBytes}`);
    if (scan.frames !== snapshot.frames) return differs(`they are ${scan.frames} frames, not ${snapshot.frames}`);
    const { inheritedEventCount, hasInheritedSeed } = scan.log;
    if (
      inheritedEventCount !== snapshot.inheritedEventCount || hasInheritedSeed !== snapshot.hasInheritedSeed
    ) return differs("other events are inherited");
    return deepEqualJson(JSON.parse(keptText({ folds, lastType })), snapshot.kept)
      ? null
      : differs("its events come to something else");
  }

  /** Reads in small pieces with a pause before each, so that neither the medium nor the process is busy with it. */
  #paced(source: ByteSource): ByteSource {
    return {
      name: source.name,
      read: async (startBytes, endBytes) => {
        const end = Math.min(endBytes, startBytes + PREFIX_CHECK_PIECE_BYTES);
        await this.#pause(Math.ceil(1000 * (end - startBytes) / PREFIX_CHECK_BYTES_PER_SECOND));
        return await source.read(startBytes, end);
      },
    };
  }

  /** A pause that ends at once, with the reason, when the check is stopped. */
  #pause(ms: number): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const wake = () => {
        signal.removeEventListener("abort", stop);
        resolve();
      };
      const cancel = clock.scheduleQuietly?.(ms, wake) ?? clock.schedule(ms, wake);
      const stop = () => {
        cancel();
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
    });
  }
}
