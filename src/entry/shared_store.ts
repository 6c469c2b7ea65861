/**
 * What a store has that many processes share, whatever database it is in: orders to a session that another process writes.
 *
 * @module
 */
import type { CommandDesk, CommandDeskOptions, CommandTable } from "../sql/commands/mod.ts";

export type { CommandDesk, CommandDeskOptions, CommandTable } from "../sql/commands/mod.ts";
export type { Command, CommandDraft, CommandKind, CommandState, Posted } from "../sql/commands/mod.ts";

/** A store that many processes share. */
export interface SharedStore {
  /** What any process may ask of a session that another one writes. */
  readonly commands: CommandTable;
  /** Looks for commands from now on and hands them over, as soon as they are posted. Close it before the store. */
  openDesk(options: Pick<CommandDeskOptions, "handle" | "report">): CommandDesk;
}
