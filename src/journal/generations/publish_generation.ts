/**
 * Brings a log of an older version to the current one and publishes what came of it beside it.
 *
 * A crash at any point leaves the old file as it was, and either no new one or a whole one: until it has its name nobody sees it.
 *
 * @see session-format §10.1
 * @module
 */
import { AlreadyExistsError, CorruptLogError, hasCode, SourceDriftError } from "../../errors.ts";
import { FORMAT_VERSION, type SessionHeader } from "../../event/mod.ts";
import type { StagedFile, StorageLock } from "../../storage/storage_port.ts";
import type { MigrationProgress } from "../../store/session_store.ts";
import { type ByteSource, fileSource } from "../byte_source.ts";
import type { JournalContext } from "../context.ts";
import { sha256Hex } from "../digest.ts";
import { errorOf, type Finding } from "../finding.ts";
import { logName } from "../layout.ts";
import type { LegacyVersion } from "../legacy/mod.ts";
import type { LogPlace } from "../locate.ts";
import { type OldLog, readOldLog } from "./old_log.ts";
import { StageWriter } from "./stage_writer.ts";
import { verifyHere } from "./verify_stage.ts";

/** How many bytes at the end of the old file are compared beside its size and revision: a medium's clock may be coarse. */
export const SOURCE_TAIL_BYTES: number = 64 * 1024;

/** An old log, and what is asked of its migration. */
export interface PublishOptions {
  readonly place: LogPlace;
  readonly version: LegacyVersion;
  /** The session's lock, held. */
  readonly lock: StorageLock;
  /** What forbids writing, once the stored header is known. */
  readonly judge: (header: SessionHeader) => Promise<Finding | null>;
  readonly onMigration?: (progress: MigrationProgress) => void;
  readonly signal?: AbortSignal;
}

/** What became of a migration. */
export interface Publication {
  /** The name of the new file. */
  readonly log: string;
  /** Whether it was there already, with the same content. */
  readonly isAccepted: boolean;
  readonly events: number;
  readonly sizeBytes: number;
}

/**
 * Publishes the current generation of an old log. The old file is never written to.
 *
 * @throws the finding, as an error, when the old log is damaged or has no place in the current version
 * @throws {SourceDriftError} when somebody wrote to it meanwhile
 * @throws {AlreadyExistsError} when another current generation appeared meanwhile, with another content
 */
export async function publishGeneration(context: JournalContext, options: PublishOptions): Promise<Publication> {
  const { place, lock, onMigration } = options;
  const { storage, codec, limits } = context;
  const { encoding } = place;
  const target = place.folder + logName({ version: FORMAT_VERSION, encoding });
  const source = await identityOf(context, place);
  const staged = await storage.stage(target, lock);
  try {
    const writer = new StageWriter(staged, { encoding, codec, limits });
    const old = await migrateTo(writer, context, options, source.sizeBytes);
    const { sizeBytes } = writer;
    const report = (phase: MigrationProgress["phase"], doneBytes = sizeBytes) =>
      onMigration?.({ phase, doneBytes, sizeBytes });
    await writer.checkStage(target, (doneBytes) => report("checking", doneBytes));
    await verify(staged, { context, target, place, old, sizeBytes, report });
    await checkSource(context, place, source);
    const isAccepted = !await publish(context, staged, writer, target, lock);
    report("published");
    return { log: target, isAccepted, events: old.nextSeq, sizeBytes };
  } finally {
    await staged.discard();
  }
}

/** Reads the old log and writes the new one aside. Throws when it must not be published. */
async function migrateTo(
  writer: StageWriter,
  { storage, codec, limits }: JournalContext,
  { place, version, judge, onMigration, signal }: PublishOptions,
  sizeBytes: number,
): Promise<OldLog> {
  const file = fileSource(storage, place.log);
  const source: ByteSource = {
    name: file.name,
    read(startBytes, endBytes) {
      onMigration?.({ phase: "writing", doneBytes: startBytes, sizeBytes });
      return file.read(startBytes, endBytes);
    },
  };
  const old = await readOldLog({
    ...{ source, sizeBytes, encoding: place.encoding, codec, limits, version, signal, view: "migrated" },
    onHeader: (header) => writer.begin(header),
    sink: (events) => writer.append(events),
  });
  const { scan, refusal } = old;
  const finding = scan.stop ?? await judge(scan.header!) ?? scan.finding ?? refusal;
  if (finding !== null) {
    const message = `${finding.message}; "${place.log}" (version ${version}) stays as it is, and can be read`;
    throw errorOf({ ...finding, message }, `migrate session "${place.id}"`);
  }
  await writer.finish();
  return old;
}

/** Decodes the stage whole. What it holds must be what came out. */
async function verify(
  staged: StagedFile,
  { context, target, place: { id, encoding }, old, sizeBytes, report }: {
    readonly context: JournalContext;
    readonly target: string;
    readonly place: LogPlace;
    readonly old: OldLog;
    readonly sizeBytes: number;
    readonly report: (phase: MigrationProgress["phase"], doneBytes: number) => void;
  },
): Promise<void> {
  const read = (startBytes: number, endBytes: number) => {
    report("checking", startBytes);
    return staged.read({ startBytes, endBytes });
  };
  const verifier = context.verifyStage ?? verifyHere(context.codec);
  const found = await verifier({ name: target, sizeBytes, encoding }, read, context.limits);
  const wanted = { id: old.header!.id, events: old.nextSeq, inheritedEventCount: old.inheritedEventCount };
  for (const key of ["id", "events", "inheritedEventCount"] as const) {
    if (found[key] === wanted[key]) continue;
    const message = `Cannot publish "${target}" of session "${id}": its ${key} reads ${found[key]}, wanted ${
      wanted[key]
    }`;
    throw new CorruptLogError(message);
  }
}

/** Gives the stage its name. Returns false when a file with this content has it already. */
async function publish(
  { storage }: JournalContext,
  staged: StagedFile,
  writer: StageWriter,
  target: string,
  lock: StorageLock,
): Promise<boolean> {
  try {
    const file = await staged.publish();
    await file.close();
    return true;
  } catch (error) {
    if (!hasCode(error, "ALREADY_EXISTS")) throw error;
    if (await writer.isBeginningOf(storage, target)) {
      // Whoever published it may have died before that was durable.
      const file = await storage.open(target, lock);
      await file.sync().finally(() => file.close());
      return false;
    }
    const message = `Cannot publish "${target}": another file is there, and it is not what this log migrates to`;
    throw new AlreadyExistsError(message, { cause: error });
  }
}

/** Which file it is, and what it ends with. */
interface SourceIdentity {
  readonly sizeBytes: number;
  readonly revision: string;
  readonly tailSha256: string;
}

async function identityOf({ storage }: JournalContext, { log, id }: LogPlace): Promise<SourceIdentity> {
  const stat = await storage.stat(log);
  if (stat === null) throw new SourceDriftError(`Cannot migrate session "${id}": "${log}" is not there any more`);
  const { sizeBytes, revision } = stat;
  const startBytes = Math.max(0, sizeBytes - SOURCE_TAIL_BYTES);
  return {
    sizeBytes,
    revision,
    tailSha256: await sha256Hex(await storage.read(log, { startBytes, endBytes: sizeBytes })),
  };
}

/** An old program asks nobody before it writes: it may have gone on with the session meanwhile. */
async function checkSource(context: JournalContext, place: LogPlace, then: SourceIdentity): Promise<void> {
  const now = await identityOf(context, place);
  const isSame = now.sizeBytes === then.sizeBytes && now.revision === then.revision &&
    now.tailSha256 === then.tailSha256;
  if (isSame) return;
  const found = `"${place.log}" was written meanwhile (${then.sizeBytes} bytes then, ${now.sizeBytes} now)`;
  throw new SourceDriftError(`Cannot migrate session "${place.id}": ${found}; nothing was published`);
}
