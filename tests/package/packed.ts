/**
 * Our package as npm gets it: packed, unpacked, and described.
 *
 * @module
 */

import { repositoryDir } from "../support/paths.ts";
import { run } from "./npm.ts";

/** What a package.json says, as far as it is looked at here. */
export interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly types: string;
  readonly exports: Readonly<Record<string, { readonly types?: string; readonly import: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
}

/** A tarball and what is in it. */
export interface Packed {
  readonly tarball: string;
  /** The folder with the unpacked package. */
  readonly folder: string;
  /** Every file in it, relative to the folder. */
  readonly files: readonly string[];
  readonly json: PackageJson;
  /** Our deno.json. */
  readonly config: {
    readonly name: string;
    readonly version: string;
    readonly exports: Readonly<Record<string, string>>;
  };
}

/** Packs as a maintainer does (`deno task pack`), into a folder. */
export async function pack(folder: string): Promise<Packed> {
  const tarball = `${folder}/holdfast.tgz`;
  await run(Deno.execPath(), ["task", "pack", "--output", tarball], repositoryDir);
  await run("tar", ["-xzf", tarball], folder);
  const package_ = `${folder}/package`;
  return {
    tarball,
    folder: package_,
    files: filesBelow(package_),
    json: JSON.parse(await Deno.readTextFile(`${package_}/package.json`)),
    config: JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`)),
  };
}

function filesBelow(folder: string, prefix = ""): string[] {
  return [...Deno.readDirSync(`${folder}/${prefix}`)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(folder, `${prefix}${name}/`) : [`${prefix}${name}`]
  ).sort();
}

/** What a module of the package imports or re-exports, in code and in declarations. */
export function importsOf(text: string): string[] {
  const code = text.replace(/\/\*[^]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  const found = [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([\w@.:/-]+)["']/g)];
  return found.map(([, specifier]) => specifier!);
}
