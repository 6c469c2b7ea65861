/**
 * The storage contract, the session store contract, and what only OPFS has, in a browser worker.
 *
 * @module
 */

import { cases } from "../../adapters/opfs/browser_suite.ts";
import { reportCases } from "../../support/browser/cases.ts";

await reportCases(cases);
