/**
 * `deno task pack [--output FILE]`: the package for npm, with the packages of optional entries as optional peers.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { repositoryDir } from "../support/paths.ts";
import { withChangedFile, withOptionalPeers } from "./optional_peers.ts";

const { values } = parseArgs({ args: Deno.args, options: { output: { type: "string", short: "o" } } });
const { name, version } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
const output = values.output ?? `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
const { code } = await new Deno.Command(Deno.execPath(), {
  args: ["pack", "--no-source-maps", "--allow-dirty", "--output", output],
  cwd: repositoryDir,
}).spawn().status;
if (code !== 0) Deno.exit(code);
const path = output.startsWith("/") ? output : `${repositoryDir}/${output}`;
const changed = withChangedFile(
  await Deno.readFile(path),
  "package/package.json",
  (text) => `${JSON.stringify(withOptionalPeers(JSON.parse(text)), null, 2)}\n`,
);
await Deno.writeFile(path, changed);
console.log(`Packed ${output}`);
