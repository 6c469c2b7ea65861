/**
 * The worker that looks at one file a person dropped: what it is, what is wrong with it, and what can be made of it.
 *
 * It keeps nothing: what it makes goes to the page, and from there to the worker of the sessions.
 *
 * @module
 */
import { newSessionId } from "../mod.ts";
import { type InspectedFile, inspectFile } from "../src/entry/inspect.ts";
import { systemClock, systemRandom } from "../src/entry/opfs.ts";
import type { InspectAnswer, InspectAsk } from "./inspect_protocol.ts";
import { wireError } from "./worker/wire.ts";

/** The scope of a dedicated worker, as far as it is used here. */
interface InspectorScope {
  onmessage: ((event: { readonly data: InspectAsk }) => void) | null;
  postMessage(answer: InspectAnswer, transfer?: readonly ArrayBuffer[]): void;
}

const scope = globalThis as unknown as InspectorScope;
let file: InspectedFile | null = null;

scope.onmessage = ({ data }) => void answer(data);

async function answer(ask: InspectAsk): Promise<void> {
  try {
    if (ask.verb === "look") {
      file = await inspectFile(ask.name, ask.bytes);
      scope.postMessage({ verb: "look", report: file.report });
      return;
    }
    if (file === null) throw new TypeError("Cannot make a log before a file was looked at");
    const newId = () => newSessionId(systemClock, systemRandom);
    const logs = await file.make(ask.how, { newId, ...(ask.keep === undefined ? {} : { keep: ask.keep }) });
    scope.postMessage({ verb: "make", logs });
  } catch (error) {
    scope.postMessage({ verb: "refusal", error: wireError(error) });
  }
}
