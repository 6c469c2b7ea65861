/**
 * The operating system's calls over a simulated disk, so that the file adapter itself runs on it.
 *
 * @module
 */

import * as nodeFs from "node:fs";
import type { FileEntry, FileStat, FileSystem } from "../../../src/adapters/file/file_system.ts";
import type { KernelLock } from "../../../src/adapters/file/guard.ts";
import { StorageFullError } from "../../../mod.ts";
import type { SimulatedDisk, SimulatedProcess, Target } from "../../../src/testing/media/disk.ts";
import { FileNode, FolderNode, type MediumNode } from "../../../src/testing/media/nodes.ts";
import { lookUp } from "../../../src/testing/media/tree.ts";

const { O_APPEND, O_CREAT } = nodeFs.constants;

interface Descriptor {
  readonly node: MediumNode;
  readonly name: string;
  readonly isAppending: boolean;
}

/** One process's calls. The root of the disk is `/`. */
export class SimulatedFileSystem implements FileSystem {
  readonly #disk: SimulatedDisk;
  readonly #process: SimulatedProcess;
  readonly #descriptors = new Map<number, Descriptor>();
  #lastDescriptor = 2;

  constructor(disk: SimulatedDisk, process: SimulatedProcess) {
    this.#disk = disk;
    this.#process = process;
  }

  /** flock, of which a descriptor of its own is held. */
  get kernelLock(): KernelLock {
    const fileAt = (path: string): FileNode => {
      const node = this.#find(path);
      if (node?.kind !== "file") throw failure("ENOENT", path);
      return node;
    };
    return {
      unusable: null,
      acquire: (path) => {
        const file = fileAt(path);
        const holder = this.#disk.hold(this.#process, file);
        if (holder === null) return null;
        return { identity: `1:${file.id}`, release: () => this.#disk.free(this.#process, file, holder) };
      },
      probe: (path) => fileAt(path).holder !== null,
    };
  }

  openSync(path: string, flags: number): number {
    let node = this.#find(path);
    if ((flags & O_CREAT) !== 0) {
      if (node !== null) throw failure("EEXIST", path);
      const [folder, part] = this.#parentOf(path);
      const created = node = new FileNode(this.#disk.nextId());
      this.#run("create", path, () => folder.set(part, created));
    }
    if (node === null) throw failure("ENOENT", path);
    const descriptor = ++this.#lastDescriptor;
    this.#descriptors.set(descriptor, { node, name: nameOf(path), isAppending: (flags & O_APPEND) !== 0 });
    return descriptor;
  }

  closeSync(descriptor: number): void {
    this.#descriptors.delete(descriptor);
  }

  writeSync(descriptor: number, bytes: Uint8Array, offset: number, length: number, position: number | null): number {
    const target = this.#target(descriptor);
    const at = position === null || this.#descriptors.get(descriptor)!.isAppending
      ? target.file.written.sizeBytes
      : position;
    return translated(() =>
      this.#disk.write(this.#process, target, at, bytes.subarray(offset, offset + length), "write")
    );
  }

  readSync(descriptor: number, bytes: Uint8Array, offset: number, length: number, position: number): number {
    this.#disk.checkReadable(this.#process, "read");
    const found = this.#target(descriptor).file.written.slice(position, position + length);
    bytes.set(found, offset);
    return found.length;
  }

  fstatSync(descriptor: number): FileStat {
    return statOf(this.#descriptors.get(descriptor)!.node);
  }

  lstatSync(path: string): FileStat {
    const node = this.#find(path);
    if (node === null) throw failure("ENOENT", path);
    return statOf(node);
  }

  fdatasyncSync(descriptor: number): void {
    translated(() => this.#disk.sync(this.#process, this.#target(descriptor), "sync"));
  }

  fsyncSync(descriptor: number): void {
    const { node, name } = this.#descriptors.get(descriptor)!;
    if (node.kind === "file") return this.fdatasyncSync(descriptor);
    translated(() => this.#disk.run(this.#process, "sync-folder", name, "sync", () => node.settle()));
  }

  ftruncateSync(descriptor: number, sizeBytes: number): void {
    translated(() => this.#disk.truncate(this.#process, this.#target(descriptor), sizeBytes, "truncate"));
  }

  fchmodSync(): void {}

  chmodSync(): void {}

  linkSync(existingPath: string, newPath: string): void {
    const node = this.#find(existingPath);
    if (node === null) throw failure("ENOENT", existingPath);
    const [folder, part] = this.#parentOf(newPath);
    this.#run("link", newPath, () => {
      if (folder.written.has(part)) throw failure("EEXIST", newPath);
      folder.set(part, node);
    });
  }

  renameSync(): void {
    throw new TypeError("This system has hard links, so nothing is renamed");
  }

  unlinkSync(path: string): void {
    if (this.#find(path) === null) throw failure("ENOENT", path);
    const [folder, part] = this.#parentOf(path);
    this.#run("unlink", path, () => folder.remove(part));
  }

  mkdirSync(path: string): void {
    if (this.#find(path) !== null) throw failure("EEXIST", path);
    const [folder, part] = this.#parentOf(path);
    this.#run("mkdir", path, () => folder.set(part, new FolderNode(this.#disk.nextId())));
  }

  rmdirSync(path: string): void {
    const node = this.#find(path);
    if (node?.kind !== "folder") throw failure("ENOENT", path);
    if (node.written.size > 0) throw failure("ENOTEMPTY", path);
    const [folder, part] = this.#parentOf(path);
    this.#run("unlink", path, () => folder.remove(part));
  }

  readdirSync(path: string): readonly FileEntry[] {
    const node = this.#find(path);
    if (node?.kind !== "folder") throw failure("ENOENT", path);
    return [...node.written].map(([name, { kind }]) => ({
      name,
      isFile: () => kind === "file",
      isDirectory: () => kind === "folder",
    }));
  }

  #find(path: string): MediumNode | null {
    this.#disk.checkReadable(this.#process, `look at "${path}"`);
    const name = nameOf(path);
    return name === "" ? this.#disk.root : lookUp(this.#disk.root, name);
  }

  #parentOf(path: string): [FolderNode, string] {
    const name = nameOf(path);
    const at = name.lastIndexOf("/");
    const folder = at < 0 ? this.#disk.root : lookUp(this.#disk.root, name.slice(0, at));
    if (folder?.kind !== "folder") throw failure("ENOENT", path);
    return [folder, name.slice(at + 1)];
  }

  #run(kind: "create" | "link" | "unlink" | "mkdir", path: string, act: () => void): void {
    translated(() => this.#disk.run(this.#process, kind, nameOf(path), kind, act));
  }

  #target(descriptor: number): Target {
    const { node, name } = this.#descriptors.get(descriptor)!;
    if (node.kind !== "file") throw failure("EISDIR", name);
    return { file: node, name, vanish: () => {} };
  }
}

/** `/a/./b/.` → `a/b`. */
function nameOf(path: string): string {
  return path.split("/").filter((part) => part !== "" && part !== ".").join("/");
}

function statOf(node: MediumNode): FileStat {
  const isFile = node.kind === "file";
  const times = { mtimeMs: isFile ? node.writes : 0, ctimeMs: 0, birthtimeMs: node.id };
  return {
    ...times,
    dev: 1,
    ino: node.id,
    size: isFile ? node.written.sizeBytes : 0,
    mode: isFile ? 0o100600 : 0o40700,
    isFile: () => isFile,
    isDirectory: () => !isFile,
  };
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

/** What the disk refuses as the system says it. */
function translated<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string" && /^E[A-Z]+$/.test(error.code)) {
      throw error;
    }
    const cause = error instanceof Error ? error.cause ?? error : error;
    throw Object.assign(new Error(String(error)), { code: cause instanceof StorageFullError ? "ENOSPC" : "EIO" });
  }
}
