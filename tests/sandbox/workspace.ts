/**
 * A workspace for a test, and a folder beside it. Not below /tmp, which a sandbox may hide.
 *
 * @module
 */
import type { ResolvedPolicy } from "../../src/sandbox/mod.ts";
import { DEFAULT_LIMITS } from "../../src/sandbox/mod.ts";

/** A workspace, removed at the end. */
export class Workspace implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<Workspace> {
    const folder = await Deno.realPath(await Deno.makeTempDir({ dir: "/var/tmp", prefix: "holdfast-sandbox-" }));
    await Deno.mkdir(`${folder}/ws`);
    await Deno.mkdir(`${folder}/beside`);
    return new Workspace(folder);
  }

  get root(): string {
    return `${this.folder}/ws`;
  }

  get beside(): string {
    return `${this.folder}/beside`;
  }

  has(path: string): boolean {
    try {
      Deno.lstatSync(`${this.folder}/${path}`);
      return true;
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** A policy as providers get it. */
export function resolved(policy: Partial<ResolvedPolicy> = {}): ResolvedPolicy {
  return {
    mode: "read-only",
    workspace: "/ws",
    cwd: "/ws",
    network: "off",
    protectedPaths: [],
    unprotectable: [],
    isScanned: true,
    hidden: [],
    environment: { PATH: "/bin" },
    limits: DEFAULT_LIMITS,
    ...policy,
  };
}
