/**
 * Every bound of the sandbox endpoint, with its name. They hold for each token apart.
 *
 * @module
 */

/** How many commands of one token may run at the same time. One more is refused before anything is written. */
export const COMMANDS_RUNNING_MAX = 16;

/**
 * How many effect keys one ledger knows in its whole life. No key is ever forgotten, because one that is unknown may run; so at the
 * bound nothing new is run.
 */
export const LEDGER_KEYS_MAX = 100_000;

/** How many new keys one generation of the log takes before the next one begins. */
export const GENERATION_KEYS_MAX = 2048;

/** How many bytes of outcomes one generation of the log keeps as blobs before the next one begins. */
export const GENERATION_BLOB_BYTES_MAX: number = 64 * 1024 * 1024;

/** How many outcomes, the newest, go over into the next generation. Of older ones it is only known that the command has run. */
export const OUTCOMES_CARRIED_MAX = 256;

/** Outcomes up to this size stand in the log itself, in bytes of JSON; larger ones are spilled to a blob. */
export const OUTCOME_INLINE_BYTES_MAX: number = 4 * 1024;

/** How many keys one event of a new generation carries. */
export const KEYS_PER_EVENT = 512;

/** The longest time a request waits for the end of a command, in milliseconds. Then it is told that it runs. */
export const WAIT_MS_MAX = 30_000;

/** The longest command line, all arguments together, in UTF-16 units. */
export const COMMAND_LENGTH_MAX: number = 128 * 1024;

/** How many arguments a command has at most. */
export const ARGUMENTS_MAX = 1024;
