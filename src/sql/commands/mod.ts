/**
 * Commands for sessions that another process writes.
 *
 * @module
 */
export { BODY_LENGTH_MAX, KEY_LENGTH_MAX } from "./command.ts";
export type { Command, CommandDraft, CommandKind, CommandState } from "./command.ts";
export { CommandDesk, type CommandDeskOptions, LOOK_MS } from "./desk.ts";
export { CommandTable, type CommandTableOptions, PENDING_COMMANDS_MAX, type Posted } from "./table.ts";
