import { assert } from "@std/assert";
import { repositoryDir } from "../support/paths.ts";

async function deno(...args: string[]): Promise<{ success: boolean; said: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: repositoryDir,
    stdin: "null",
    env: { NO_COLOR: "1" },
  });
  const { success, stdout, stderr } = await command.output();
  return { success, said: new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout) };
}

Deno.test("`deno publish --dry-run` is clean: every public type can be read without inference, and nothing is left out", async () => {
  const { success, said } = await deno("publish", "--dry-run", "--allow-dirty");
  assert(success, said);
  assert(!/^\s*warning/im.test(said), said);
  assert(/Success/.test(said), said);
});

Deno.test("`deno task docs` writes a page for every export", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-docs-" });
  try {
    const { success, said } = await deno("task", "docs", folder);
    assert(success, said);
    const { exports } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
    // The entry `.` has the folder "~", and each other one has its own.
    for (const path of Object.keys(exports)) {
      const { isDirectory } = await Deno.stat(`${folder}/${path === "." ? "~" : path.slice(2)}`);
      assert(isDirectory, path);
    }
    assert((await Deno.readTextFile(`${folder}/~/createAgent.html`)).includes("createAgent"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
