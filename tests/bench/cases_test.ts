import { assert, assertEquals } from "@std/assert";
import type { Budget } from "../../bench/bench_case.ts";
import { benchCases } from "../../bench/cases.ts";
import { compileNative } from "../../bench/native.ts";
import { NATIVE_VARIABLE } from "../../bench/places/file_place.ts";
import { runBench } from "../../bench/run.ts";

/** Enough to see every case run once. What is measured is not looked at. */
const TINY: Budget = { warmUpRounds: 1, rounds: 2, timeMaxMs: 60_000, streams: 1, streamMs: 40 };
/** Only larger than a case that is run. */
const LARGER = /^(open|memory) 1\d{5,} events$|^list 10000 /;
const SECONDS_OF_PACE = /^batching 10\/s$/;

const cases = benchCases.map(({ name }) => name).filter((name) => !LARGER.test(name) && !SECONDS_OF_PACE.test(name));

Deno.test("every case runs in Deno over files, with every contestant, and its samples are kept", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  try {
    const document = await runBench({
      runtimes: ["deno"],
      cases,
      budget: TINY,
      folder,
      variables: {},
      report() {},
    });
    assertEquals(document.notRun, []);
    const result = document.runtimes[0]!;
    assertEquals(result.cases.map(({ name }) => name), cases);
    for (const { name, baseline, series } of result.cases) {
      assert(series.some(({ lane }) => lane === baseline), `${name} has no baseline "${baseline}"`);
      for (const { lane, measure, samples } of series) {
        if (measure === "between syncs" || measure === "resident memory gained") continue;
        assert(samples.length > 0, `${name}, ${lane}: no ${measure}`);
        assert(samples.every((sample) => sample >= 0 && Number.isFinite(sample)), `${name}, ${lane}: ${samples}`);
      }
    }
    // What is written down survives JSON, and names neither this machine nor a folder of it.
    const text = JSON.stringify(document);
    assertEquals(JSON.parse(text), JSON.parse(JSON.stringify(JSON.parse(text))));
    assert(!text.includes(folder) && !text.includes(Deno.hostname()), "the result names the machine");

    const facts = (name: string) => result.cases.find((each) => each.name === name)!.facts!;
    const share = facts("barrier zstd")["holdfast, flush: log bytes per raw byte"]!;
    assert(share > 0.1 && share <= 0.55, `the log has ${share} of the raw bytes`);
    const plain = facts("barrier none")["holdfast, flush: log bytes per raw byte"]!;
    assert(plain >= 1 && plain < 1.1, `the plain log has ${plain} of the raw bytes`);
    if (Deno.build.os === "linux") {
      const readBytes = facts("list 100 sessions")["holdfast: bytes read per session"]!;
      assert(readBytes > 100 && readBytes <= 65_536, `${readBytes} bytes were read of each session`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the program in C appends the bytes it was given, once per request", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  try {
    const program = await compileNative(folder);
    if (program === null) return console.log("1 case not run: this machine has no C compiler");
    Deno.env.set(NATIVE_VARIABLE, program);
    const { filePlace } = await import("../../bench/places/file_place.ts");
    const place = await filePlace(folder);
    const writer = await place.nativeWriter!.open(new TextEncoder().encode("seven b"));
    const tookMs = [await writer.append(), await writer.append(), await writer.append()];
    await writer.close();
    assert(tookMs.every((ms) => ms > 0 && ms < 60_000), tookMs.join());
    const written = [...Deno.readDirSync(folder)].find(({ name }) => name.startsWith("native"))!;
    assertEquals(await Deno.readTextFile(`${folder}/${written.name}`), "seven b".repeat(3));
  } finally {
    Deno.env.delete(NATIVE_VARIABLE);
    await Deno.remove(folder, { recursive: true });
  }
});
