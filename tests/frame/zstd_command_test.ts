/**
 * Our files as the `zstd` command and a walk written from the format's text see them, and its files as we do.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { hasCode } from "../../src/errors.ts";
import { encodeLines } from "../../src/frame/lines.ts";
import { walkFrames } from "../../src/frame/walk.ts";
import { codecs, joined, node, portable, rows, utf8 } from "./frames.ts";
import { judge } from "./independent_walk.ts";

/** The batches of one log: a header, then events; one of them has several blocks. */
const BATCHES = ['{"type":"session","version":3}\n', rows(0, 1), rows(1, 6), rows(7, 3000), rows(3007, 100)];

Deno.test("what each codec writes is the format's container: a content size, a checksum, one frame for each batch", () => {
  for (const codec of codecs) {
    const file = joined(...BATCHES.map((batch) => codec.compress(utf8(batch))));
    const { frames, tornStart, corruptAt } = judge(file);
    assertEquals([frames.length, tornStart, corruptAt], [BATCHES.length, null, null], codec.name);
    for (const [index, frame] of frames.entries()) {
      assert(frame.hasChecksum, codec.name);
      assertEquals(frame.contentSize, BigInt(utf8(BATCHES[index]!).length), codec.name);
    }
  }
});

Deno.test("the zstd command tests and reads a whole file of ours", async () => {
  if (!await hasZstdCommand()) return console.log("not run: zstd command is absent");
  for (const codec of codecs) {
    const file = joined(...BATCHES.map((batch) => codec.compress(utf8(batch))));
    assertEquals((await zstd(["-t", "-q"], file)).success, true, `${codec.name}: zstd -t`);
    const { success, stdout } = await zstd(["-d", "-c", "-q"], file);
    assertEquals([success, new TextDecoder().decode(stdout)], [true, BATCHES.join("")], `${codec.name}: zstd -dc`);
    const damaged = file.slice();
    damaged[file.length - 1]! ^= 1;
    assertEquals((await zstd(["-t", "-q"], damaged)).success, false, `${codec.name}: zstd -t of a damaged file`);
  }
});

Deno.test("both codecs read what the zstd command writes, at every level, from files and from pipes", async () => {
  if (!await hasZstdCommand()) return console.log("not run: zstd command is absent");
  const plain = encodeLines(rows(0, 1500).trimEnd().split("\n"));
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, plain);
    for (
      const options of [["-1"], ["-3"], ["-9"], ["-19"], ["--ultra", "-22"], ["--fast=5"], ["-3", "--no-check"], [
        "-3",
        "--long=27",
      ]]
    ) {
      for (const fromFile of [true, false]) {
        const args = ["-c", "-q", ...options, ...(fromFile ? [path] : [])];
        const { success, stdout } = await zstd(args, fromFile ? new Uint8Array(0) : plain);
        assertEquals(success, true);
        const { frames } = walkFrames(stdout);
        assertEquals([frames.length, frames[0]!.contentSizeBytes], [1, fromFile ? plain.length : null]);
        for (const codec of codecs) {
          assertEquals(codec.decompress(stdout, plain.length), plain, `${codec.name} ${args}`);
        }
        const cut = stdout.subarray(0, stdout.length >> 1);
        assertEquals(node.salvage(cut, plain.length), portable.salvage(cut, plain.length), `salvage ${args}`);
        const unchecked = stdout.subarray(0, stdout.length - (options.includes("--no-check") ? 0 : 1));
        if (unchecked.length < stdout.length) assertEquals(portable.salvage(unchecked, plain.length), plain);
      }
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("both codecs refuse what the zstd command writes with a dictionary, with or without an id", async () => {
  if (!await hasZstdCommand()) return console.log("not run: zstd command is absent");
  const folder = await Deno.makeTempDir();
  try {
    const plain = utf8(rows(0, 30));
    for (let index = 0; index < 200; index += 1) {
      Deno.writeTextFileSync(`${folder}/${index}.part`, rows(20 * index, 20));
    }
    const parts = Array.from({ length: 200 }, (_, index) => `${folder}/${index}.part`);
    await Deno.writeTextFile(`${folder}/text`, rows(0, 20));
    const trained = await zstd(["-q", "--train", ...parts, "-o", `${folder}/trained`], new Uint8Array(0));
    assertEquals(trained.success, true);
    // Any text is a dictionary too; it has no id, so that only the copies from before the start tell.
    for (const dictionary of ["trained", "text"]) {
      const { success, stdout } = await zstd(["-c", "-q", "-D", `${folder}/${dictionary}`], plain);
      assertEquals([success, walkFrames(stdout).frames.length], [true, 1]);
      assertEquals(walkFrames(stdout).frames[0]!.dictionaryId === 0, dictionary === "text");
      for (const codec of codecs) {
        const refusal = assertThrows(() => codec.decompress(stdout, plain.length));
        assert(hasCode(refusal, "CORRUPT_FRAME"), `${codec.name}: ${dictionary}`);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function hasZstdCommand(): Promise<boolean> {
  try {
    return (await new Deno.Command("zstd", { args: ["--version"], stdout: "null", stderr: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function zstd(args: readonly string[], input: Uint8Array) {
  const command = new Deno.Command("zstd", { args: [...args], stdin: "piped", stdout: "piped", stderr: "null" });
  await using child = command.spawn();
  const [output] = await Promise.all([child.output(), feed(child.stdin, input)]);
  return { success: output.success, stdout: output.stdout };
}

/** Writes all; a command that gives up early closes the pipe, which is its right. */
async function feed(stream: WritableStream<Uint8Array>, input: Uint8Array): Promise<void> {
  const writer = stream.getWriter();
  try {
    await writer.write(input);
    await writer.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
