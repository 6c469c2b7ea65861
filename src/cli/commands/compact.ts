/**
 * `holdfast compact`: summarises a session's conversation, between its turns.
 *
 * @module
 */
import { CompactionError, createAgent } from "../../../mod.ts";
import type { Command } from "../command.ts";
import { compactedText, NOTHING_TO_COMPACT } from "../compact_report.ts";
import { findSession } from "../find.ts";
import { withInterrupt } from "../interrupt.ts";
import { modelOf } from "../model_spec.ts";
import { tellResumed } from "../outcomes.ts";
import { checkSameModel } from "../same_model.ts";

/**
 * Compacts a session. Exit code 1 when it could not be done; when there is nothing to compact that is fine.
 *
 * `--json` prints `{id, compacted}`, with `null` when there was nothing to compact.
 */
export const compact: Command = {
  spec: {
    name: "compact",
    positionals: "ID",
    help: "summarise the conversation of a session, so that the model reads less; the log keeps everything",
    flags: {
      model: {
        value: "SPEC",
        help: "who summarises: demo (default), scripted:FILE or openai:MODEL[@BASEURL], as for run",
      },
    },
    count: [1, 1],
  },
  async run(context) {
    const { args, out, host, root } = context;
    const model = modelOf(args.text("model") ?? "demo", context);
    await using store = await context.openStore();
    const row = await findSession(store, root, args.positionals[0]!);
    if (!args.has("model")) await checkSameModel(store, row, model);
    const summarizer = { provider: model.provider, model: model.id };
    const agent = createAgent({ store, model, compaction: { auto: false, summarizer } });
    await using session = await agent.resume(row.id);
    if (session.resumed !== null) tellResumed(session.resumed, (text) => out.note(text));
    using line = out.progress(`compacting session ${row.id}`);
    try {
      const compacted = await withInterrupt(
        { host, out, terminal: null },
        () => session.cancel(),
        () => session.compact(),
      );
      line[Symbol.dispose]();
      out.json({ id: row.id, compacted });
      out.line(compacted === null ? NOTHING_TO_COMPACT : compactedText(compacted));
      return 0;
    } catch (error) {
      if (!(error instanceof CompactionError)) throw error;
      line[Symbol.dispose]();
      const { code, message, cause } = error;
      out.note(`${code}: ${message}`);
      if (cause instanceof Error) out.note(`  because: ${cause.message}`);
      if (!out.hasDocument) out.json({ error: { code: `COMPACTION_${code.toUpperCase()}`, message } });
      return 1;
    }
  },
};
