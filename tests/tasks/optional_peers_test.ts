import { assertEquals, assertThrows } from "@std/assert";
import { OPTIONAL_PEERS, withChangedFile, withOptionalPeers } from "./optional_peers.ts";

Deno.test("withOptionalPeers() moves what only optional entries need, and refuses a list that is out of date", () => {
  const peers = Object.fromEntries(OPTIONAL_PEERS.map((name) => [name, "^1.0.0"]));
  const found = withOptionalPeers({ dependencies: { a: "^2.0.0", ...peers } });
  assertEquals(found.dependencies, { a: "^2.0.0" });
  assertEquals(found.peerDependencies, peers);
  assertEquals(Object.keys(found.peerDependenciesMeta!).sort(), [...OPTIONAL_PEERS].sort());
  assertThrows(() => withOptionalPeers({ dependencies: { a: "^2.0.0" } }), Error, "Nothing imports");
});

Deno.test("withChangedFile() changes one file, longer or shorter, and tar reads all of them", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-tar-" });
  const tar = async (...args: string[]) => {
    const { success, stdout, stderr } = await new Deno.Command("tar", { args, cwd: folder }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  };
  try {
    await Deno.mkdir(`${folder}/package`);
    const files = { "a.txt": "first", "package.json": "{}", "z.txt": "last".repeat(500) };
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/package/${name}`, text);
    await tar("-czf", "old.tgz", "--format=ustar", "package/a.txt", "package/package.json", "package/z.txt");
    for (const text of ["", "x".repeat(511), "y".repeat(512), "z".repeat(2000)]) {
      const changed = withChangedFile(await Deno.readFile(`${folder}/old.tgz`), "package/package.json", () => text);
      await Deno.writeFile(`${folder}/new.tgz`, changed);
      assertEquals(await tar("-xzOf", "new.tgz", "package/package.json"), text);
      assertEquals(await tar("-xzOf", "new.tgz", "package/a.txt"), files["a.txt"]);
      assertEquals(await tar("-xzOf", "new.tgz", "package/z.txt"), files["z.txt"]);
    }
    assertThrows(() => withChangedFile(Deno.readFileSync(`${folder}/old.tgz`), "other", String), Error, "There is no");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
