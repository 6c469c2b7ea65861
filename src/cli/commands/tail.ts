/**
 * `holdfast tail`: follow a log as it becomes durable.
 *
 * @module
 */
import type { Command } from "../command.ts";
import { describeEvent } from "../describe.ts";
import { findSession } from "../find.ts";
import { UsageError } from "../usage.ts";

/** Prints every durable event from a seq on, until Ctrl-C. */
export const tail: Command = {
  spec: {
    name: "tail",
    positionals: "ID",
    help: "print durable events as they come, until Ctrl-C",
    flags: { from: { value: "N", help: "first seq to print (default 0)" } },
    count: [1, 1],
  },
  async run({ args, out, root, host, openStore }) {
    if (out.isJson) {
      throw new UsageError("Cannot tail with --json: a tail has no end, so it is no one document (use show --json)");
    }
    const from = args.count("from") ?? 0;
    await using store = await openStore();
    const { id } = await findSession(store, root, args.positionals[0]!);
    await using reader = await store.open(id, "read");
    const stop = new AbortController();
    const stopListening = host.onInterrupt(() => stop.abort());
    try {
      for await (const event of reader.watch(from, { signal: stop.signal })) out.line(describeEvent(event));
    } finally {
      stopListening();
    }
    const { fault } = reader.state();
    if (fault !== null) out.note(`${fault.code}: ${fault.message}`);
    return fault === null ? 0 : 1;
  },
};
