/**
 * `holdfast fork`: a new session that begins with a copy of another's events.
 *
 * @module
 */
import { forkSession } from "../../../mod.ts";
import type { Command } from "../command.ts";
import { findSession } from "../find.ts";
import { counted } from "../format.ts";
import { isWhole, lossLines, lossText, spilledMember } from "../spilled_report.ts";
import { UsageError } from "../usage.ts";

/**
 * Forks a session at its end, or after a seq. Exit code 1 when long results are lost that the fork names: it is made all the same,
 * as complete as its source, and says which.
 */
export const fork: Command = {
  spec: {
    name: "fork",
    positionals: "ID",
    help: "start a new session from a copy of this one's events",
    flags: {
      at: { value: "SEQ", help: "copy events up to and including this seq (default: all, up to an open turn)" },
    },
    count: [1, 1],
  },
  async run({ args, out, root, openStore }) {
    const at = args.count("at");
    await using store = await openStore();
    const { id: sourceId } = await findSession(store, root, args.positionals[0]!);
    using _ = out.progress(`copying session ${sourceId}`);
    const { session, spilled } = await forkSession({ store, sourceId, at }).catch((error) => {
      // A place that the source does not have, or where it cannot be cut, is a mistake of whoever typed it.
      if (at !== undefined && error instanceof RangeError) throw new UsageError(error.message);
      throw error;
    });
    const { id, inheritedEventCount } = session;
    await session.close();
    out.json({ id, parentSession: sourceId, inheritedEventCount, ...spilledMember(spilled) });
    out.line(`Session ${id} begins with ${counted(inheritedEventCount, "event")} of session ${sourceId}`);
    if (isWhole(spilled)) return 0;
    out.note(`In the source, and so in the fork, ${lossText(spilled)}`);
    for (const line of lossLines(spilled)) out.note(`  ${line}`);
    return 1;
  },
};
