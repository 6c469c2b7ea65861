/**
 * What the figures were measured on. No names: neither of the machine, nor of a person, nor of a folder.
 *
 * @module
 */
import { statfsSync } from "node:fs";
import { arch, cpus, platform, release, totalmem } from "node:os";

/** The machine under the figures. */
export interface Machine {
  readonly system: string;
  readonly cpu: string;
  readonly cpuCount: number;
  readonly memoryBytes: number;
  /** The kind of file system that was written to, or its number. */
  readonly fileSystem: string;
}

/** The magic numbers of statfs(2) that one is likely to meet. */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0xef53: "ext4",
  0x0102_1994: "tmpfs: memory, where a sync does nothing",
  0x9123_683e: "btrfs",
  0x5846_5342: "xfs",
  0x794c_7630: "overlayfs",
  0x6969: "nfs",
};

/**
 * Describes this machine.
 *
 * @param folder whose file system is looked at
 *
 * @example
 * ```ts
 * import { machine } from "./machine.ts";
 *
 * if (machine(".").cpuCount < 1) throw new Error("unreachable");
 * ```
 */
export function machine(folder: string): Machine {
  const processors = cpus();
  const { type } = statfsSync(folder);
  return {
    system: `${platform()} ${release()} ${arch()}`,
    cpu: processors[0]?.model.trim() ?? "unknown",
    cpuCount: processors.length,
    memoryBytes: totalmem(),
    fileSystem: platform() === "linux" ? FILE_SYSTEMS[type] ?? `0x${type.toString(16)}` : `type ${type}`,
  };
}
