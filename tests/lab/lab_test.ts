/**
 * The crash lab with fixed seeds: what it finds, that it can be replayed, and that it can be trusted to find something.
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { zstdDecompressSync } from "node:zlib";
import {
  addTally,
  ALPHABET,
  CHECKERS,
  emptyTally,
  LabBench,
  type LabTally,
  MEDIA,
  minimise,
  parseUnit,
  replayUnit,
  runLab,
  type Trial,
  unitText,
} from "../../src/testing/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { withQuickDigests } from "../../src/testing/lab/quick_digest.ts";

const decodeFrame = (frame: Uint8Array) => zstdDecompressSync(frame);

function told({ states, media, classes, verdicts }: LabTally): string {
  const refused = MEDIA.map((medium) => `${media[medium].refused} of ${media[medium].states} refused on ${medium}`);
  return `${states} states, ${refused.join(", ")}; ${JSON.stringify({ ...classes, ...verdicts })}`;
}

/** Every letter on one medium and in one encoding each, so that all four pairs of them are met several times. */
const UNITS = ALPHABET.map((letter, index) => {
  return `all:${["posix", "opfs"][index % 2]}:${["zstd", "none", "none", "zstd"][index % 4]}:${letter}`;
});

Deno.test("all crash states of each one-letter workload, each on one medium in one encoding: nothing false is said", async () => {
  let states = 0;
  let refused = 0;
  const classes = new Set<string>();
  const verdicts = new Set<string>();
  for (const text of UNITS) {
    for (const { violations, tried, describe } of await replayUnit(parseUnit(text, 1), undefined, { decodeFrame })) {
      assertEquals(violations, [], `${text}: ${violations.length === 0 ? "" : describe()}`);
      states++;
      if (tried.refused !== null) refused++;
      for (const said of tried.classes) classes.add(said);
      for (const said of tried.verdicts) verdicts.add(said);
    }
  }
  console.log(`${states} states, ${refused} refused`);
  assert(refused > 0, "no state was damage: blocks and lengths that come before their data are not met");
  assertEquals([...classes].sort(), ["done", "not_dispatched", "not_started", "outcome_unknown"]);
  assertEquals([...verdicts].sort(), ["absent", "happened"]);
});

Deno.test("on a disk where only prefixes are left no log is refused", async () => {
  for (const unit of ["all:posix:zstd:say", "all:opfs:none:say"]) {
    const bounds = { blockCombinationsMax: 0 };
    const trials = await replayUnit(parseUnit(unit, 1), undefined, { decodeFrame, bounds });
    assertEquals(trials.filter(({ tried, violations }) => tried.refused !== null || violations.length > 0), []);
    assert(trials.length > 300);
  }
});

Deno.test("lives with long results, requests that are too long, and compactions: nothing false is said, and a new compaction can run", async () => {
  const tally = await runLab({ seed: 1, compactionStates: 600, bench: { decodeFrame } });
  assertEquals(tally.violations, []);
  console.log(told(tally));
  assertEquals(tally.compactionStates, tally.states);
  assert(tally.nestedStates > 100, `only ${tally.nestedStates} states after an earlier crash`);
  // The letters do what they stand for: of all crashes of one life, some come late enough to see it.
  const unit = parseUnit("random:posix:none:long-long-over-long-fold-say/", 3);
  const most = (type: string, trials: readonly Trial[]) =>
    Math.max(
      ...trials.map(({ tried: { trace: { appended } } }) =>
        appended.flatMap(({ rows }) => rows).filter((row) => (row as { readonly type: string }).type === type).length
      ),
    );
  const trials = await replayUnit(unit, undefined, { decodeFrame });
  assertEquals(["result/spilled", "compaction/summary", "compaction/end"].map((type) => most(type, trials)), [3, 2, 2]);
});

Deno.test("random lives with crashes inside of recoveries, and failing calls: nothing false is said", async () => {
  const total = emptyTally();
  for (const seed of [1, 2]) {
    addTally(total, await runLab({ seed, randomStates: 1500, faultStates: 500, bench: { decodeFrame } }));
  }
  assertEquals(total.violations, []);
  console.log(told(total));
  assert(total.nestedStates > 1000, `only ${total.nestedStates} states after an earlier crash`);
  assertEquals(Object.keys(total.verdicts).sort(), ["absent", "happened", "undecidable"]);
});

Deno.test("the portable codec and node:zlib leave the same classes behind", async () => {
  const unit = parseUnit("fault:posix:zstd:pay:20.EIO", 1);
  const said = (trials: readonly Trial[]) => trials.map(({ tried }) => [tried.classes, tried.verdicts]);
  const node = await replayUnit(unit, undefined, { decodeFrame, codec: nodeZstd() });
  assertEquals(said(node).length, said(await replayUnit(unit, undefined, { decodeFrame })).length);
  assert(node.every(({ violations }) => violations.length === 0));
});

/** Everything about a run that a person or a judge could see. */
function whole(trials: readonly Trial[]): string {
  return JSON.stringify(
    trials.map(({ number, describe, tried: { trace } }) => [number, describe(), trace]),
    (_, value) => {
      if (value instanceof Uint8Array) return value.toHex();
      return value instanceof Map ? [...value] : value;
    },
  );
}

Deno.test("one seed is one run: its traces are equal, byte for byte, also when other runs came before", async () => {
  for (const text of ["random:opfs:zstd:pair-mail/stop-pay/look", "random:posix:none:send-pair-put/mail"]) {
    const first = whole(await replayUnit(parseUnit(text, 77), undefined, { decodeFrame }));
    const bench = new LabBench({ decodeFrame });
    const again: Trial[] = [];
    await withQuickDigests(async () => {
      for await (const _ of bench.run(parseUnit("fault:opfs:zstd:say:4.ENOSPC", 3)));
      for await (const trial of bench.run(parseUnit(text, 77))) again.push(trial);
    });
    assertEquals(whole(again), first);
    const other = whole(await replayUnit(parseUnit(text, 78), undefined, { decodeFrame }));
    assert(other !== first, "another seed gives another run");
  }
});

Deno.test("what a kill left is recovered, and then the power fails", async () => {
  const tried = async (text: string) => {
    const trials = await replayUnit(parseUnit(text, 1), undefined, { decodeFrame });
    assertEquals(trials.flatMap(({ violations }) => violations), [], text);
    return trials.filter(({ describe }) => describe().startsWith("after the recovery")).length;
  };
  for (const medium of ["posix", "opfs"]) {
    // Some of them fail a sync, so that a batch is only in the cache when the process dies.
    for (const kind of ["sync-refused", "ENOSPC", "EIO"] as const) {
      let states = 0;
      for (let operation = 0; operation < 24; operation++) {
        states += await tried(`fault:${medium}:none:say-pay:${operation}.${kind}.sticky`);
      }
      assert(states > 0, `${medium}, ${kind}`);
    }
  }
});

Deno.test("threads share a run without a gap and without doing anything twice", async () => {
  const shares = [0, 1].map((index) =>
    runLab({ seed: 9, faultStates: 60, share: { index, of: 2 }, bench: { decodeFrame } })
  );
  const total = emptyTally();
  for (const tally of await Promise.all(shares)) addTally(total, tally);
  assert(total.faultStates >= 60);
  assertEquals(total.violations, []);
});

Deno.test("a lookup that says absent of a key that stays open is found, made small, and replayed by its number", async () => {
  // The world forgets that it closed the key: an order that comes later is carried out.
  const bench = { decodeFrame, keepsClosed: false };
  const found = await minimise(parseUnit("all:posix:zstd:say-pay", 1), "no-false-verdict", bench);
  assert(found !== null, "the lie was not found");
  assertEquals(found.unit.lives, [["pay"]], "the other batch has nothing to do with it");
  const [again] = await replayUnit(found.unit, found.number, bench);
  assertEquals(again?.violations.map(({ checker }) => checker), found.violations.map(({ checker }) => checker));
  assert(CHECKERS.includes(found.violations[0]!.checker));
  assertEquals(await replayUnit(found.unit, found.number, { decodeFrame }).then(([trial]) => trial?.violations), []);
});

Deno.test("parseUnit() reads every unit that unitText() writes, and refuses everything else", () => {
  for (
    const text of ["all:posix:none:say-look-pair", "random:opfs:zstd:pay//say-stop", "fault:opfs:none:say:7.EIO.sticky"]
  ) {
    assertEquals(unitText(parseUnit(text, 1)), text);
  }
  for (
    const text of ["", "all:ntfs:none:say", "all:posix:none:fly", "fault:posix:none:say", "all:posix:none:say:1.EIO"]
  ) {
    assertThrows(() => parseUnit(text, 1), SyntaxError, "Cannot read the unit");
  }
});

Deno.test("runLab() ends with the signal", async () => {
  const abort = new AbortController();
  const running = runLab({
    ...{ seed: 1, randomStates: 1e9, signal: abort.signal, bench: { decodeFrame } },
    onUnit: () => abort.abort(new Error("enough")),
  });
  await assertRejects(() => running, Error, "enough");
});
