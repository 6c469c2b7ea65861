/**
 * Opens the session of a root for writing, in a process with a small heap, and says what came of it.
 *
 * @module
 */
import { hasCode, openSession } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";

const [root, id] = Deno.args as [string, string];
await using store = openFileStore({ root });
try {
  const { session } = await openSession({ store, id });
  const { nextSeq } = session;
  const { events } = await session.history({ from: nextSeq - 3, limit: 1 });
  await session.close();
  console.log(JSON.stringify({ nextSeq, readSeq: events[0]?.seq }));
} catch (error) {
  if (!hasCode(error, "TOO_LARGE")) throw error;
  console.log(JSON.stringify({ refused: (error as Error).message }));
}
