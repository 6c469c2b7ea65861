/**
 * The scan that fits an encoding.
 *
 * @module
 */
import { FrameScan } from "./frame_scan.ts";
import { LineScan } from "./line_scan.ts";
import type { LogScan, ScanOptions } from "./scan.ts";

/** A scan at the start of a log. */
export function startScan(options: ScanOptions): LogScan {
  return options.encoding === "zstd" ? new FrameScan(options) : new LineScan(options);
}
