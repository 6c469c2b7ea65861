/**
 * A second copy of the library, in a realm of its own: it opens the lines it is sent and says what it makes of them.
 *
 * @module
 */
import { encodeRow, isRequiredUnknown, parseRow, shapeProblem } from "../../src/event/mod.ts";

/** The part of a worker's scope that is used here; the project is checked without the worker's library. */
const scope = self as unknown as {
  onmessage: ((message: { data: readonly string[] }) => void) | null;
  postMessage(message: unknown): void;
};

scope.onmessage = ({ data }) => {
  scope.postMessage(data.map((line) => {
    const event = parseRow(line);
    return { line: encodeRow(event), problem: shapeProblem(event), isRequiredUnknown: isRequiredUnknown(event) };
  }));
};
