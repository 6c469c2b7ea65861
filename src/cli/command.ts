/**
 * A subcommand: its specification and what it does.
 *
 * @module
 */
import type { SessionStore } from "../../mod.ts";
import type { Host } from "./host.ts";
import type { Output } from "./output.ts";
import type { CommandSpec, Parsed } from "./usage.ts";

/** What a subcommand works with. */
export interface CommandContext {
  readonly args: Parsed;
  readonly out: Output;
  readonly host: Host;
  /** The root folder, absolute. */
  readonly root: string;
  /** The current folder, absolute. */
  readonly cwd: string;
  /** The environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the store is called; `null` while it is the root. */
  readonly storeName: string | null;
  /** The file of a store that is one; `null` for any other. */
  readonly storeFile: string | null;
  /** Opens the store: the one `--store` names, else the one under the root. The caller closes it. Nothing is created. */
  openStore(): Promise<SessionStore>;
}

/** Exit code: fine, the thing asked about is not fine, the command line is wrong, or the terminal hung up. */
export type ExitCode = 0 | 1 | 2 | 129;

/** One subcommand. */
export interface Command {
  readonly spec: CommandSpec;
  run(context: CommandContext): Promise<ExitCode>;
}
