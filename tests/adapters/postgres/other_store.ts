/**
 * The other process of the session store contract.
 *
 * @module
 */
import { serveOther } from "./context.ts";

await serveOther();
