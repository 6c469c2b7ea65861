/**
 * The codec contract in one bundle, for Node. Prints `{cases, failures}` as JSON.
 *
 * @module
 */
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { codecContract } from "../../src/testing/codec_contract.ts";

const codecs = [nodeZstd(), portableZstd()];
const failures: string[] = [];

for (const codec of codecs) {
  const others = codecs.filter((other) => other !== codec);
  for (const { name, run } of codecContract) {
    try {
      await run({ codec, others });
    } catch (error) {
      failures.push(`${codec.name}: ${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
}
console.log(JSON.stringify({ cases: codecs.length * codecContract.length, failures }));
