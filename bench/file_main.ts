/**
 * The process that is measured in Deno and Node: `file_main.ts FOLDER REQUEST`. Messages leave it as JSON lines.
 *
 * @module
 */
import process from "node:process";
import { answer, type BenchRequest } from "./messages.ts";
import { filePlace } from "./places/file_place.ts";

const [folder, request] = process.argv.slice(2);
if (folder === undefined || request === undefined) throw new TypeError("Cannot run: wanted a folder and a request");
await answer(
  JSON.parse(request) as BenchRequest,
  () => filePlace(folder),
  (message) => process.stdout.write(JSON.stringify(message) + "\n"),
);
