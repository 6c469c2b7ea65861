import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { codecContract } from "../../src/testing/codec_contract.ts";

const codecs = [nodeZstd(), portableZstd()];

for (const codec of codecs) {
  const others = codecs.filter((other) => other !== codec);
  for (const { name, run } of codecContract) {
    Deno.test(`${codec.name}: ${name}`, () => run({ codec, others }));
  }
}
