/**
 * The codec contract in a browser worker, on what a browser has.
 *
 * @module
 */

import { portableZstd } from "../../../src/frame/portable_zstd.ts";
import { codecContract } from "../../../src/testing/codec_contract.ts";
import { type BrowserCase, reportCases } from "../../support/browser/cases.ts";

const codec = portableZstd();
const cases: BrowserCase[] = codecContract.map(({ name, run }) => ({
  name: `${codec.name}: ${name}`,
  run: () => run({ codec, others: [] }),
}));

await reportCases(cases);
