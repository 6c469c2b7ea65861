/**
 * `holdfast repair`: close what a crash left open, and say what was added.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  closers,
  hasCode,
  LockHeldError,
  logFold,
  type LogFolds,
  type SessionEvent,
  type SessionStore,
} from "../../../mod.ts";
import type { Command } from "../command.ts";
import { describeEvent } from "../describe.ts";
import { findSession } from "../find.ts";
import { counted } from "../format.ts";
import { faultError, inspect } from "../inspect.ts";
import type { Output } from "../output.ts";
import { UsageError } from "../usage.ts";

/** What a repair adds, or would add. */
interface Repaired {
  readonly added: readonly SessionEvent[];
  readonly salvagedEvents: number;
  /** Whether the log ends in an unfinished batch, of which perhaps nothing could be kept. */
  readonly isTorn: boolean;
}

/**
 * Appends the closers and nothing else, or with `--dry-run` shows them. Exit code 1 when the log cannot be repaired.
 *
 * A repair begins no lifecycle: `session/end-seed` comes with whoever goes on with the session. A log that needs no repair is
 * not written at all.
 */
export const repair: Command = {
  spec: {
    name: "repair",
    positionals: "ID",
    help: "append the closers of a turn that a crash left open; says what it added",
    flags: { "dry-run": { help: "show the closers, write nothing" } },
    count: [1, 1],
  },
  async run({ args, out, root, cwd, openStore }) {
    await using store = await openStore();
    const { id, name, live } = await findSession(store, root, args.positionals[0]!).catch((error) => {
      throw fileError(error, args.positionals[0]!, cwd);
    });
    const isDryRun = args.has("dry-run");
    if (isDryRun && live) {
      throw new LockHeldError(`Cannot repair session "${id}": a writer holds it now, and its turn may be under way`);
    }
    const { added, salvagedEvents, isTorn } = isDryRun
      ? await foresee(store, id, name, out)
      : await repairSession(store, id, out);

    out.json({ id, isDryRun, added, salvagedEvents });
    const kept = `${counted(salvagedEvents, "event")} of the torn tail`;
    if (isTorn) out.line(isDryRun ? `Would keep ${kept}` : `Kept ${kept}`);
    if (added.length === 0) out.line(`Session ${id} has nothing to close`);
    else out.line(`${isDryRun ? "Would add" : "Added"} ${counted(added.length, "event")} to session ${id}:`);
    for (const event of added) out.line(describeEvent(event));
    return 0;
  },
};

/** Whoever names a file learns what can be done with one; any other error stays as it is. */
function fileError(error: unknown, argument: string, cwd: string): unknown {
  if (!hasCode(error, "NOT_FOUND") || !existsSync(resolve(cwd, argument))) return error;
  return new UsageError(
    `Cannot repair "${argument}": it is a file, and only a session below the root is repaired, by its id ` +
      `(holdfast verify "${argument}" says what is in it and what a repair would add)`,
  );
}

/** The same findings as `repairSession`, from reading alone. */
async function foresee(store: SessionStore, id: string, name: string, out: Output): Promise<Repaired> {
  const { reader, folds } = await inspect({ file: name, open: (options) => store.open(id, "read", options) }, out);
  await using _ = reader;
  const { fault, torn } = reader.state();
  if (fault !== null) throw faultError(fault, `repair session "${id}"`);
  return { added: closers(folds), salvagedEvents: torn?.salvagedEvents ?? 0, isTorn: torn !== null };
}

/** Takes the lock, reads, and makes what the torn tail still yields and the closers durable, in one step. */
async function repairSession(store: SessionStore, id: string, out: Output): Promise<Repaired> {
  let folds: LogFolds = logFold.initial();
  using _ = out.progress(`repairing session ${id}`);
  await using log = await store.open(id, "write", { visit: (event) => folds = logFold.apply(folds, event) });
  const { torn } = log.state();
  const added = closers(folds);
  if (added.length > 0 || torn !== null) await log.recover(added);
  return { added, salvagedEvents: torn?.salvagedEvents ?? 0, isTorn: torn !== null };
}
