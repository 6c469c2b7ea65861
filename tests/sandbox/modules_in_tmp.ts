/**
 * The launcher of Landlock, in a folder below /tmp.
 *
 * @module
 */

const SOURCE = new URL("../../src/sandbox/", import.meta.url);

/** A copy of the modules, removed at the end. */
export class ModulesInTmp implements AsyncDisposable {
  readonly folder: string;
  readonly supervisor: string;
  readonly launcher: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.supervisor = `${folder}/landlock_supervisor.ts`;
    this.launcher = `${folder}/landlock_launcher.ts`;
  }

  static async make(): Promise<ModulesInTmp> {
    const place = await Deno.makeTempDir({ dir: "/tmp", prefix: "holdfast-modules-" });
    const folder = `${place}/sandbox`;
    await Deno.mkdir(folder);
    for await (const { name, isFile } of Deno.readDir(SOURCE)) {
      if (isFile) await Deno.copyFile(new URL(name, SOURCE), `${folder}/${name}`);
    }
    return new ModulesInTmp(folder);
  }

  /** Every name with what is in it. */
  async content(): Promise<Readonly<Record<string, string>>> {
    const names = (await Array.fromAsync(Deno.readDir(this.folder))).map(({ name }) => name).sort();
    const texts = await Promise.all(names.map((name) => Deno.readTextFile(`${this.folder}/${name}`)));
    return Object.fromEntries(names.map((name, index) => [name, texts[index]!]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder.slice(0, this.folder.lastIndexOf("/")), { recursive: true });
  }
}
