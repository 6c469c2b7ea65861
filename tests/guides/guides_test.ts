/**
 * The guides are true: their code runs as it stands, and the commands, folders and links they name are there.
 *
 * A block after "```ts" is run. "```ts file=NAME" is a file that later blocks import. "```ts check" is type-checked only: it
 * is for a page. "```sh" blocks name tasks that must exist.
 */
import { assert, assertEquals } from "@std/assert";
import { dirname, join } from "node:path";
import { scripted } from "../../mod.ts";
import { startServer, TOKEN } from "../server/server_support.ts";
import { repositoryDir } from "../support/paths.ts";

const GUIDES = ["in_browser_demo", "hosted_endpoint", "benchmark", "add_an_adapter"];
const textOf = (guide: string) => Deno.readTextFileSync(`${repositoryDir}/guides/${guide}.md`);

interface Block {
  readonly file: string;
  readonly isRun: boolean;
  readonly code: string;
}

function blocksOf(guide: string): Block[] {
  return [...textOf(guide).matchAll(/^```ts([^\n]*)\n([^]*?)^```$/gm)].map(([, words, code], index) => {
    const file = /file=(\S+)/.exec(words!)?.[1];
    return { file: file ?? `example_${index}.ts`, isRun: file === undefined && !words!.includes("check"), code: code! };
  });
}

for (const guide of GUIDES) {
  Deno.test(`guides/${guide}.md: its code type-checks and runs as it stands`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "holdfast-guide-" });
    // The guide to the server speaks to one.
    const server = guide === "hosted_endpoint"
      ? await startServer({ model: scripted([[{ text: ["Hel", "lo."] }]]) })
      : null;
    try {
      const blocks = blocksOf(guide);
      assert(blocks.some(({ isRun }) => isRun), "no example is run");
      for (const { file, code } of blocks) await Deno.writeTextFile(`${folder}/${file}`, code);
      const env = {
        HOLDFAST_TOKEN: TOKEN,
        NO_COLOR: "1",
        ...(server === null ? {} : { HOLDFAST_SERVER: server.origin }),
      };
      const config = ["--config", `${repositoryDir}/deno.json`];
      const deno = async (...args: string[]) => {
        const command = new Deno.Command(Deno.execPath(), { args, cwd: folder, env, stdin: "null" });
        const { success, stdout, stderr } = await command.output();
        assert(success, `${args.at(-1)}:\n${new TextDecoder().decode(stderr)}`);
        return new TextDecoder().decode(stdout);
      };
      await deno("check", "--quiet", ...config, ...blocks.map(({ file }) => file));
      for (const { file, isRun } of blocks) {
        if (isRun) assert((await deno("run", "-A", "--no-check", ...config, file)).length > 0, `${file} says nothing`);
      }
    } finally {
      await server?.[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    }
  });

  Deno.test(`guides/${guide}.md: what it names is there, and the README leads to it`, async () => {
    const { tasks } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
    const text = textOf(guide);
    for (const [, task] of text.matchAll(/deno(?:@2\.9\.6)? task ([a-z:]+)/g)) {
      assert(task! in tasks, `no task ${task}`);
    }
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
      await Deno.stat(join(repositoryDir, "guides", target!));
    }
    for (const [, path] of text.matchAll(/`((?:src|tests|web|bench)\/[\w/.]+)`/g)) {
      if (path !== "web/dist") await Deno.stat(`${repositoryDir}/${path}`); // made by deno task build
    }
    const readme = await Deno.readTextFile(`${repositoryDir}/README.md`);
    assert(readme.includes(`(guides/${guide}.md)`), "the README has no link to it");
  });
}

Deno.test("guides: the pages of the in-browser guide are those that are tested", async () => {
  const pages = blocksOf("in_browser_demo").filter(({ isRun }) => !isRun);
  assertEquals(pages.map(({ file }) => file), ["worker.ts", "page.ts"]);
  for (const { file, code } of pages) {
    assertEquals(code, await Deno.readTextFile(`${repositoryDir}/web/embed/${file}`));
  }
  assert(dirname(repositoryDir).length > 0);
});
