/**
 * `deno task docs [FOLDER]`: the reference of every public entry as HTML, from the doc comments. Default: `dist/docs`.
 *
 * @module
 */
import { repositoryDir } from "../support/paths.ts";

const { exports } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`)) as {
  exports: Record<string, string>;
};
const folder = Deno.args[0] ?? `${repositoryDir}/dist/docs`;
const { code } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--quiet", "--html", "--name=Holdfast", `--output=${folder}`, ...Object.values(exports)],
  cwd: repositoryDir,
}).spawn().status;
if (code === 0) console.log(`Open ${folder}/index.html`);
Deno.exit(code);
