/**
 * The words by which the supervisor and the launcher agree on a temporary folder of the command's own.
 *
 * @module
 */

/** The supervisor's first argument when it has to make the folder, and to remove it at the end. */
export const PRIVATE_TMP = "--private-tmp";

/** The variable by which the launcher learns where the folder is. It becomes the command's `HOME` and `TMPDIR`. */
export const PRIVATE_TMP_VARIABLE = "HOLDFAST_PRIVATE_TMP";
