/**
 * What the page and the worker that looks at files say to each other. One such worker looks at one file and ends with it.
 *
 * It is apart from the worker of the sessions, because reading old, foreign and damaged logs takes code that most visitors never
 * need, and because whatever a hostile file does to it, the sessions go on.
 *
 * @module
 */
import type { FileReport, MadeLog } from "../src/entry/inspect.ts";
import type { WireError } from "./protocol.ts";

export type { FileCopy, FileFinding, FileImport, FileReport, MadeLog } from "../src/entry/inspect.ts";

/** What the page says: first the file, then what to make of it. */
export type InspectAsk =
  | { readonly verb: "look"; readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly verb: "make"; readonly how: "import" | "salvage"; readonly keep?: readonly string[] };

/** What the worker says: one answer to each. */
export type InspectAnswer =
  | { readonly verb: "look"; readonly report: FileReport }
  | { readonly verb: "make"; readonly logs: readonly MadeLog[] }
  | { readonly verb: "refusal"; readonly error: WireError };
