// Imports every export of the package and prints how many names each has.
import { readFileSync } from "node:fs";

const { name, exports } = JSON.parse(readFileSync("node_modules/@holdfast/holdfast/package.json", "utf8"));
const counts = {};
for (const path of Object.keys(exports)) {
  counts[path] = Object.keys(await import(name + path.slice(1))).length;
}
console.log(JSON.stringify(counts));
