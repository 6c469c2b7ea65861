// Imports every export of the package and prints how many names each has, or why it cannot.
import { readFileSync } from "node:fs";

const { name, exports } = JSON.parse(readFileSync("node_modules/@holdfast/holdfast/package.json", "utf8"));
const counts = {};
for (const path of Object.keys(exports)) {
  counts[path] = await import(name + path.slice(1)).then(
    (found) => Object.keys(found).length,
    ({ message }) => message,
  );
}
console.log(JSON.stringify(counts));
