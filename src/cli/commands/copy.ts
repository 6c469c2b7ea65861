/**
 * `holdfast copy`: a session from one store into another.
 *
 * @module
 */
import type { Command } from "../command.ts";
import { upgradeLog } from "../../entry/upgrade_log.ts";
import { copySession } from "../copy_session.ts";
import { findSession } from "../find.ts";
import { counted, piece } from "../format.ts";
import { openPlace, parsePlace, placeName } from "../place.ts";
import { UsageError } from "../usage.ts";

/** Copies a session with its blobs, and compares the copy event by event. Exit code 1 when blobs were missing in the source. */
export const copy: Command = {
  spec: {
    name: "copy",
    positionals: "ID --to STORE",
    help: "copy a session into another store (a folder, sqlite:FILE, postgres://…) and compare the two event by event",
    flags: {
      from: { value: "STORE", help: "where it is (default: the store of every command)" },
      to: { value: "STORE", help: "where it goes; asked for again, a copy that was interrupted goes on" },
    },
    count: [1, 1],
  },
  async run({ args, out, root, cwd, storeName, openStore }) {
    const [from, to] = [args.text("from"), args.text("to")];
    if (to === undefined) throw new UsageError("Cannot copy: wanted --to with a folder, sqlite:FILE or postgres://…");
    const targetPlace = parsePlace(to, cwd);
    const sourcePlace = from === undefined ? null : parsePlace(from, cwd);
    const sourceName = sourcePlace === null ? storeName ?? root : placeName(sourcePlace);
    const targetName = placeName(targetPlace);
    if (sourceName === targetName) throw new UsageError(`Cannot copy from ${sourceName} to itself`);

    await using source = sourcePlace === null ? await openStore() : await openPlace(sourcePlace);
    const { id } = await findSession(source, root, args.positionals[0]!);
    await using target = await openPlace(targetPlace);
    using _ = out.progress(`copying session ${id}`);
    const { events, resumedFrom, blobs, missingBlobs, digest } = await copySession({
      source,
      target,
      id,
      upgrade: upgradeLog,
    });
    out.json({ id, from: sourceName, to: targetName, events, resumedFrom, blobs, missingBlobs, digest });
    out.line(
      `Session ${piece(id)}: ${counted(events, "event")} from ${sourceName} to ${targetName}, compared and equal`,
    );
    if (resumedFrom > 0) out.note(`${counted(resumedFrom, "event")} were there already`);
    out.line(`  digest ${digest}`);
    for (const missing of missingBlobs) out.note(`The source names blob ${missing} and has it not`);
    return missingBlobs.length === 0 ? 0 : 1;
  },
};
