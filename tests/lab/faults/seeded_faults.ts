/**
 * Faults that are put into the engine on purpose, one at a time, to see whether anybody notices.
 *
 * They were chosen from the engine's sources, without a look at the judge that has to find them. A fault is a change of text, so it
 * is the engine itself that runs, not a stand-in. A text that is not found any more fails the test: the fault moves with the code.
 *
 * @module
 */

/** A place in a source file, and what stands there in the faulty engine. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  /** Must be there exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** One fault. */
export interface SeededFault {
  readonly name: string;
  /** What is wrong with the engine, in words. */
  readonly says: string;
  readonly edits: readonly Edit[];
  /**
   * Who has to find it: the crash lab, or, for what lies below the storage port and so outside of every simulated medium, a file of
   * tests.
   */
  readonly finder: "lab" | { readonly tests: string; readonly filter?: string };
}

const BARRIER = "src/checkpoint/barrier.ts";
const PHASES = "src/tool/phases.ts";
const REPAIR = "src/session/repair.ts";
const RECONCILE = "src/session/reconcile.ts";
const LOG_FILE = "src/journal/log_file.ts";
const WRITER = "src/journal/writer.ts";
const WRITE_BEHIND = "src/writer/write_behind.ts";
const RESUME_BY_SNAPSHOT = "src/journal/snapshot/resume.ts";
const CLASSES = "src/fold/classes.ts";

/** Every fault. */
export const SEEDED_FAULTS: readonly SeededFault[] = [
  fault(
    "snapshot-believed-unseen",
    "a snapshot is believed without a look at the frame it ends with",
    RESUME_BY_SNAPSHOT,
    [
      "if (await endDigestOf(source, lastStartBytes, coveredBytes) !== snapshot.endDigest) {",
      "if (await endDigestOf(source, lastStartBytes, coveredBytes) === snapshot.headerDigest) {",
    ],
  ),
  fault("snapshot-is-the-whole-log", "what stands behind a snapshot is read and forgotten", WRITER, [
    "await found.scan.advance(source, sizeBytes, { visit, signal });",
    "await found.scan.advance(source, sizeBytes, { visit, signal });\n    restore!(found.kept);",
  ]),
  fault("barrier-does-not-flush", "the barrier believes in durability without asking for it", BARRIER, [
    "durableSeq = await session.flush({ signal });",
    "durableSeq = await Promise.resolve(throughSeq);",
  ]),
  fault("barrier-passes-when-refused", "a barrier whose flush failed lets the body run", BARRIER, [
    "throw refusal(session, barrier, `events through ${throughSeq} are not durable: ${describe(error)}`, error);",
    "return describe(error).length * 0 + throughSeq;",
  ]),
  fault("body-beside-its-barrier", "the body starts while its marker is still being flushed", PHASES, [
    'await passBarrier(session, { barrier: "tool", throughSeq, effect, signal });',
    'void passBarrier(session, { barrier: "tool", throughSeq, effect, signal }).catch(() => {});',
  ]),
  fault(
    "marker-after-body",
    "the marker is written when the body is over",
    PHASES,
    [
      'if (session !== null && (call.parentCallId === null || effect !== "none")) {',
      'if (session === null && (call.parentCallId === null || effect !== "none")) {',
    ],
    [
      "const throughSeq = await recordMarker(session, call, drawn, signal);",
      "const throughSeq = await recordMarker(session!, call, drawn, signal);",
    ],
    [
      'await passBarrier(session, { barrier: "tool", throughSeq, effect, signal });',
      'await passBarrier(session!, { barrier: "tool", throughSeq, effect, signal });',
    ],
    [
      "const executed = await execute(scene, tool, drawn, nested);",
      "const executed = await execute(scene, tool, drawn, nested);\n  if (session !== null) await recordMarker(session, call, drawn, signal).catch(() => {});",
    ],
  ),
  fault("marker-for-opaque-only", "an idempotent or keyed call gets no marker", PHASES, [
    'if (session !== null && (call.parentCallId === null || effect !== "none")) {',
    'if (session !== null && effect !== "idempotent" && effect !== "keyed") {',
  ]),
  fault("retry-under-a-new-key", "a repetition draws a key of its own", PHASES, [
    "effectKey: earlier?.effectKey ?? newEffectKey(host.random),",
    "effectKey: newEffectKey(host.random),",
  ]),
  fault("quarantine-is-off", "an equal call of an unknown opaque effect runs unasked", "src/tool/quarantine.ts", [
    'return earlier !== null && !earlier.isGranted && (effect === "opaque" || earlier.isOpaque);',
    'return earlier !== null && earlier.isGranted && (effect === "opaque" || earlier.isOpaque);',
  ]),
  fault("refusal-is-a-grant", "what a person rejected runs", "src/approval/request.ts", [
    "const outcome = decidedOnRecord(session, request, await answerTo(session, request, options));",
    'const outcome = decidedOnRecord(session, request, await answerTo(session, request, options)) && "allowed-once";',
  ]),
  fault("marked-call-reads-not-dispatched", "a marker proves nothing", CLASSES, [
    'if (call.strayMarker || call.marker !== null) return "outcome_unknown";',
    'if (call.strayMarker) return "outcome_unknown";',
  ]),
  fault("recorded-call-reads-unknown", "a call without a marker is called unknown", CLASSES, [
    'return call.barriersOn ? "not_dispatched" : "outcome_unknown";',
    'return "outcome_unknown";',
  ]),
  fault("unknown-is-closed-as-success", "repair answers an unknown call as if it had gone well", REPAIR, [
    "return { content: text(OUTCOME_UNKNOWN_TEXT), error: OUTCOME_UNKNOWN_ERROR };",
    "return { content: text(HAPPENED_TEXT), error: OUTCOME_UNKNOWN_TEXT === null ? OUTCOME_UNKNOWN_ERROR : null };",
  ]),
  fault("repair-forgets-a-call", "repair answers all open calls but the last", REPAIR, [
    "for (const call of calls) {",
    "for (const call of calls.slice(0, Math.max(1, calls.length - 1))) {",
  ]),
  fault("repair-leaves-the-turn-open", "repair ends the step and not the turn", REPAIR, [
    'add("turn/end", { turn, reason: { kind: "interrupted" } });',
    'if (step === null) add("turn/end", { turn, reason: { kind: "interrupted" } });',
  ]),
  fault("repair-draws-ids", "the results of repair have other ids each time", REPAIR, [
    "id: `interrupted-tool-result-${callId}-${seq}`,",
    "id: `interrupted-tool-result-${callId}-${seq}-${crypto.randomUUID()}`,",
  ]),
  fault("failed-lookup-says-absent", "a lookup that throws counts as a promise that nothing happens", RECONCILE, [
    "    return failed(error);\n  } finally {",
    '    return { ...failed(error), verdict: "absent" };\n  } finally {',
  ]),
  fault("late-lookup-says-absent", "a lookup that takes too long counts as a promise that nothing happens", RECONCILE, [
    "late.resolve(failed(reason));",
    'late.resolve({ ...failed(reason), verdict: "absent" });',
  ]),
  fault(
    "absent-without-tombstone",
    "what was not found yet is called absent, and its key stays open",
    "src/testing/lab/lab_tools.ts",
    [
      "const found = world.close(effectKey);",
      'const found = world.ledger.some((entry) => entry.effectKey === effectKey) ? world.close(effectKey) : { state: "closed" as const };',
    ],
  ),
  fault("append-without-sync", "an append is acknowledged before its sync", LOG_FILE, [
    "await this.#write(bytes);\n    try {\n      await this.#file.sync();\n    } catch",
    "await this.#write(bytes);\n    try {\n      await Promise.resolve();\n    } catch",
  ]),
  fault(
    "second-sync-is-believed",
    "after a refused sync the same bytes are synced again instead of written anew",
    LOG_FILE,
    [
      "await this.#giveUpIfFailing(error, () => this.#startOver());\n      await this.#write(bytes);\n      await this.#giveUpIfFailing(error, () => this.#file.sync());",
      "await Promise.resolve(error);",
    ],
  ),
  below(
    "short-write-stays",
    "what a failed write left behind is not cut back",
    LOG_FILE,
    "tests/journal/file_faults_test.ts",
    [
      "await this.#file.truncate(this.#acknowledgedBytes);\n    } catch (probeError)",
      "await Promise.resolve();\n    } catch (probeError)",
    ],
  ),
  fault(
    "open-without-sync",
    "what only the cache holds is built upon when a log is opened",
    WRITER,
    [
      "await file.sync();\n      const writer",
      "await Promise.resolve();\n      const writer",
    ],
  ),
  fault("torn-tail-is-written-behind", "a torn tail stays, and the next batch is written behind it", WRITER, [
    "await file.cutBack();\n      scan.appended(scan.log, [], 0, startBytes);",
    "scan.appended(scan.log, [], 0, startBytes);",
  ]),
  fault("cut-too-far", "with a torn tail the last whole record is cut, too", WRITER, [
    "writer.#file = new LogFile(file, scan.endBytes, reopen);",
    "writer.#file = new LogFile(file, Math.max(0, scan.endBytes - (scan.tailBytes > 0 ? 40 : 0)), reopen);",
  ]),
  below("cut-before-copy", "a torn tail is cut off before its copy is kept", WRITER, "tests/journal/crash_test.ts", [
    "await keepTornTail(copies, startBytes, tail, lock);\n        this.#isTailKept = true;\n      }\n      await file.cutBack();",
    "await file.cutBack();\n        await keepTornTail(copies, startBytes, tail, lock);\n        this.#isTailKept = true;\n      } else await file.cutBack();",
  ]),
  fault(
    "failed-batch-is-dropped",
    "a batch that was refused once is forgotten, and its waiters are told that it is durable",
    WRITE_BEHIND,
    [
      "this.#isDue = false;\n      if (isPermanentFailure(error)) {",
      "this.#isDue = false;\n      if (!isPermanentFailure(error)) {\n        this.#durableSeq = batch.events.at(-1)!.seq;\n        this.#batch = null;\n        return;\n      }\n      if (isPermanentFailure(error)) {",
    ],
  ),
  below(
    "created-over-another",
    "a session is created over one that is there",
    WRITER,
    "tests/journal/contract_test.ts",
    [
      "if (taken !== null) {\n      throw new AlreadyExistsError(",
      'if (taken !== null && taken.log === "") {\n      throw new AlreadyExistsError(',
    ],
    [
      "const staged = await storage.stage(name, lock);",
      "await storage.remove(name, lock).catch(() => {});\n    const staged = await storage.stage(name, lock);",
    ],
  ),
  fault("two-writers", "the lock is given back as soon as a log is open", "src/journal/journal.ts", [
    "this.#open.add(writer);\n      return writer;\n    } catch (error) {\n      await lock.release();",
    "this.#open.add(writer);\n      await lock.release();\n      return writer;\n    } catch (error) {\n      await lock.release();",
  ]),
  fault(
    "undecidable-settles",
    "an effect about which nobody could tell anything counts as settled",
    "src/fold/unresolved.ts",
    [
      'if (verdict === "undecidable") return { ...state, effects: changed(state.effects, callSeq, { askedSeq: seq }) };',
      'if (verdict === "undecidable") return { ...state, effects: settled(state.effects, callSeq, "absent") };',
    ],
  ),
  fault(
    "lookup-speaks-for-a-person",
    "what a lookup found is recorded as what a person found",
    "src/session/verdict.ts",
    [
      "effect.effectKey ?? hex(random.bytes(16)), verdict, by },",
      'effect.effectKey ?? hex(random.bytes(16)), verdict, by: "person" },',
    ],
  ),
  fault("body-runs-twice", "a body is begun twice for one marker", "src/tool/body.ts", [
    "const returned = await tool.execute(args, call);",
    "await tool.execute(args, call);\n    const returned = await tool.execute(args, call);",
  ]),
  fault("body-gets-other-arguments", "a body is given something else than what was recorded", "src/tool/body.ts", [
    "const returned = await tool.execute(args, call);",
    "const returned = await tool.execute({ ...(args as object), extra: true }, call);",
  ]),
  {
    name: "repetition-is-not-asked-about",
    says: "an opaque call is repeated without a question, and the guard behind the policy lets it",
    finder: "lab",
    edits: [
      {
        file: "src/tool/decide.ts",
        find: "return earlier?.isGranted === true ? {",
        replace: "return earlier !== null ? {",
      },
      {
        file: "src/tool/quarantine.ts",
        find: 'return earlier !== null && !earlier.isGranted && (effect === "opaque" || earlier.isOpaque);',
        replace: 'return earlier !== null && (effect as string) === "nothing";',
      },
    ],
  },
  fault("results-get-lost-on-the-way", "a result that repair wrote is not sent to the model", "src/fold/surface.ts", [
    'const isKept = type === "user/message" || type === "tool/result" || message.content.length > 0;',
    'const isKept = type === "user/message" || (type === "tool/result" ? !message.id.startsWith("interrupted-") : message.content.length > 0);',
  ]),
  fault(
    "cut-off-body-reads-failed",
    "a body that was cancelled on its way is answered as if it had failed, and nothing had happened",
    "src/tool/body.ts",
    [
      "if (!isAbort(error, signal)) return failure(error);",
      'if (!isAbort(error, signal) || effect !== "none") return failure(new Error("cancelled"));',
    ],
  ),
  fault(
    "verdict-is-not-written",
    "what a lookup found is used for the closers and not recorded",
    "src/session/open.ts",
    [
      "const verdicts = [...owed, ...found];\n  const closing = closers(seen.folds);",
      "const verdicts = [...owed];\n  const closing = closers(seen.folds).map((event) => ({ ...event, seq: event.seq - found.length }));",
    ],
  ),

  // What lies below the storage port: no simulated medium reaches it, so the contracts of the adapters have to.
  below(
    "link-replaced-by-rename",
    "publishing overwrites",
    "src/adapters/file/staged_file.ts",
    "tests/adapters/file/file_storage_test.ts",
    [
      "this.#resources.fs.linkSync(this.#stagePath, this.#target.path);",
      "this.#resources.fs.renameSync(this.#stagePath, this.#target.path);",
    ],
  ),
  below(
    "lock-not-looked-at-again",
    "an append does not look whether the lock is still ours",
    "src/adapters/file/open_file.ts",
    "tests/adapters/file/file_storage_test.ts",
    [
      "this.#lock.checkHeld(this.#resources, what);\n    const stat",
      "const stat",
    ],
  ),
  below(
    "replaced-file-is-written",
    "an append does not look whether the name still leads to the file",
    "src/adapters/file/open_file.ts",
    "tests/adapters/file/file_storage_test.ts",
    [
      "if (stat === null || identityOf(stat) !== this.#guard.identity) {",
      "if (stat === null) {",
    ],
  ),
  below(
    "first-byte-first",
    "on OPFS a name counts as published before its bytes are there",
    "src/adapters/opfs/claim.ts",
    "tests/adapters/opfs/crash_test.ts",
    [
      "chunk[0] = 0;",
      "chunk[0] = firstByte[0]!;",
    ],
  ),
  below(
    "checksum-ignored",
    "a frame with a wrong checksum is decoded",
    "src/frame/portable_zstd.ts",
    "tests/frame/codec_contract_test.ts",
    [
      "if (span.hasChecksum && frameChecksum(content) !== readChecksum(frame)) {",
      "if (span.hasChecksum && frameChecksum(content) !== readChecksum(frame) && content.length === 0) {",
    ],
  ),
];

type Change = readonly [find: string, replace: string];

function fault(name: string, says: string, file: string, ...changes: readonly Change[]): SeededFault {
  return { name, says, edits: changes.map(([find, replace]) => ({ file, find, replace })), finder: "lab" };
}

function below(name: string, says: string, file: string, tests: string, ...changes: readonly Change[]): SeededFault {
  return { ...fault(name, says, file, ...changes), finder: { tests } };
}
