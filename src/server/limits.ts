/**
 * Every bound of the server, with its name.
 *
 * @module
 */

/** The largest JSON body, in bytes. */
export const BODY_SIZE_BYTES_MAX: number = 1024 * 1024;
/** The largest log that can be imported, in bytes. */
export const IMPORT_SIZE_BYTES_MAX: number = 64 * 1024 * 1024;
/** The most text all rows of a log that is imported may have together, in UTF-16 units: compressed, little is much. */
export const IMPORT_CONTENT_LENGTH_MAX: number = 256 * 1024 * 1024;
/** How many members an archive that is imported may have: the log and its long results. */
export const IMPORT_MEMBERS_MAX = 10_000;
/** The most bytes the members of such an archive may have together when they are unpacked. */
export const IMPORT_UNPACKED_BYTES_MAX: number = 256 * 1024 * 1024;
/** How long a body may take to arrive, in milliseconds. */
export const BODY_MS_MAX = 30_000;
/** The most text all headers of a request may have together, in UTF-16 units. */
export const HEADERS_LENGTH_MAX: number = 16 * 1024;
/** How many requests of one token are worked on at the same time. Streams count apart. */
export const REQUESTS_PER_TOKEN_MAX = 256;
/** How many streams (tails and exports) one token may have open. */
export const STREAMS_PER_TOKEN_MAX = 2048;
/** How many requests the whole server works on, those without a valid token included. */
export const REQUESTS_MAX = 1024;
/** How many sessions one token may have open for writing. The idle one that was used longest ago makes room. */
export const HOSTED_SESSIONS_MAX = 256;
/** A session that was idle for so long is closed, in milliseconds. The next request opens it again. */
export const HOSTED_IDLE_MS: number = 5 * 60_000;
/** How many questions of one token may be open; what would ask one more is told that nobody can be asked. */
export const QUESTIONS_OPEN_MAX = 1024;
/** How many answered questions are remembered. Older ones are looked up in the log. */
export const QUESTIONS_ANSWERED_MAX = 4096;
/** How many rows one page of the list of sessions has at most. */
export const LIST_ROWS_MAX = 1000;
/** How many events one page of history has at most. */
export const PAGE_EVENTS_MAX = 1000;
/** How large one page of history is at most, in bytes: it ends early, and an event that does not fit into it comes as a preview. */
export const PAGE_SIZE_BYTES_MAX: number = 256 * 1024;
/** How large the preview of such an event is at most, in bytes. */
export const PREVIEW_SIZE_BYTES_MAX: number = 64 * 1024;
/** How often a tail says that it is alive, in milliseconds. */
export const HEARTBEAT_MS = 15_000;
/** A tail whose client took nothing for so many heartbeats, although there was something, is closed. */
export const STALLED_HEARTBEATS_MAX = 4;
/** How many frames that are not durable wait for one client. Over it they are dropped: the durable ones replace them. */
export const LIVE_FRAMES_MAX = 256;
/** How much text those have together, in bytes. */
export const LIVE_SIZE_BYTES_MAX: number = 256 * 1024;
/** How many durable frames a tail remembers for all of its clients. Who is further behind is read to from the log. */
export const RING_FRAMES_MAX = 1024;
/** How much text those have together, in bytes; the newest is kept whatever its size. */
export const RING_SIZE_BYTES_MAX: number = 1024 * 1024;
/** How many events are read at once for a client that is behind. */
export const TAIL_PAGE_EVENTS = 256;
/** Such a page ends early at so much text, in bytes; it holds at least one event. */
export const TAIL_PAGE_BYTES_MAX: number = 256 * 1024;
/** How many such pages of one session are remembered, for the others who are behind. */
export const TAIL_PAGES_MAX = 8;
/** How many pages of one session are read at the same time. */
export const TAIL_READS_MAX = 2;
/** A client is handed at most so much at once, in bytes; only a single frame may be larger. */
export const TAIL_CHUNK_BYTES_MAX: number = 64 * 1024;
/** How many events of an import are written as one batch. */
export const IMPORT_BATCH_EVENTS_MAX = 500;
/** The longest text of one input, in UTF-16 units. */
export const INPUT_LENGTH_MAX: number = 512 * 1024;
/** How long sessions may take to end after they were cancelled by a shutdown, in milliseconds. */
export const CANCEL_MS_MAX = 5_000;
/** How long a request waits until whoever writes the session has claimed what it asked for, in milliseconds. */
export const ANSWER_MS_MAX = 15_000;
/** How often it looks, in milliseconds. */
export const ANSWER_POLL_MS = 50;
