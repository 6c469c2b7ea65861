/**
 * A temporary folder of a command's own, in the host's /tmp: for a sandbox that has no /tmp of its own and must not share all of it.
 *
 * Its name is drawn by the server, so nobody can say another. The supervisor makes it and removes it, also when the server was
 * killed; the server removes it once more, because the supervisor may have been ended with the command.
 *
 * @module
 */

/** The supervisor's first argument when it has to make the folder; the folder follows. */
export const PRIVATE_TMP = "--private-tmp";

/**
 * Removes a folder and everything in it, when nothing runs any more that could write there.
 *
 * A command may have taken the rights from its folders; they are given back, to folders alone: a file may have another name
 * elsewhere. No link is followed. Paths may be deeper than a path can be long. Argument: the folder.
 */
export const REMOVE_FOLDER = `
rm -rf -- "$1" 2>/dev/null && exit 0
find "$1" -type d ! -perm -700 -exec chmod u+rwx {} \\; 2>/dev/null
rm -rf -- "$1"
`;

/**
 * The name of a folder that is not there yet.
 *
 * @param tmp where the host keeps what is temporary
 *
 * @example
 * ```ts
 * import { privateTmpIn } from "./private_tmp.ts";
 *
 * if (privateTmpIn("/tmp") === privateTmpIn("/tmp")) throw new Error("unreachable");
 * ```
 */
export function privateTmpIn(tmp: string): string {
  return `${tmp}/holdfast-${crypto.randomUUID()}`;
}
