/**
 * Built-in tools. They need a runtime with files or a network, so they are not part of the portable core.
 *
 * @module
 */
export { OUTSIDE_WORKSPACE, WorkspaceFence, type WorkspaceFs, type WorkspaceOptions } from "./workspace_fence.ts";
export * from "./file_tools.ts";
export { workspaceTools } from "./workspace_tools.ts";
export { ANSWER_SIZE_BYTES_MAX } from "./http_answer.ts";
export * from "./http_request.ts";
export * from "./shell.ts";
export * from "./shell_door.ts";
export * from "./sandbox_door.ts";
export * from "./sandbox_exec.ts";
export * from "./pack/mod.ts";
