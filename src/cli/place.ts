/**
 * Where sessions are kept, as a person writes it: a folder, `sqlite:FILE`, or `postgres://…`.
 *
 * @module
 */
import { resolve } from "node:path";
import type { SessionStore } from "../../mod.ts";
import { openFileStore } from "../entry/file.ts";
import { UsageError } from "./usage.ts";

/** A place that keeps sessions. Paths are absolute. */
export type Place =
  | { readonly kind: "folder"; readonly root: string }
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

/** Reads a place. Throws {@linkcode UsageError} for what is none. */
export function parsePlace(spec: string, cwd: string): Place {
  if (spec === "") throw new UsageError("Cannot use a store: found an empty value");
  if (/^postgres(?:ql)?:/.test(spec)) return { kind: "postgres", url: databaseUrl(spec) };
  const named = /^([a-z]{2,}):(.*)$/s.exec(spec);
  const [, scheme, path = ""] = named ?? [null, "file", spec];
  if (scheme !== "file" && scheme !== "sqlite") {
    throw new UsageError(`Cannot use store "${scheme}:…": wanted sqlite:FILE, postgres://…, or a folder`);
  }
  if (path === "") {
    throw new UsageError(`Cannot use store "${spec}": it names no ${scheme === "file" ? "folder" : "file"}`);
  }
  const absolute = resolve(cwd, path);
  return scheme === "file" ? { kind: "folder", root: absolute } : { kind: "sqlite", path: absolute };
}

/** Checks the address of a database. Throws {@linkcode UsageError}, which never says it: a password may be in it. */
export function databaseUrl(spec: string): string {
  const wanted = "wanted postgres://USER:PASSWORD@HOST:PORT/DATABASE, with what is special in a password as %XX";
  if (!/^postgres(?:ql)?:\/\/./.test(spec)) throw new UsageError(`Cannot use the store: ${wanted}`);
  if (!URL.canParse(spec)) throw new UsageError(`Cannot use the store: its address is no URL; ${wanted}`);
  const { hostname, username, password, pathname } = new URL(spec);
  if (hostname === "") throw new UsageError(`Cannot use the store: its address names no host; ${wanted}`);
  for (const part of [username, password, pathname]) {
    try {
      decodeURIComponent(part);
    } catch {
      throw new UsageError(`Cannot use the store: a % in its address is not followed by two hex digits; ${wanted}`);
    }
  }
  return spec;
}

/** What a place is called. Never says a password. */
export function placeName(place: Place): string {
  switch (place.kind) {
    case "folder":
      return place.root;
    case "sqlite":
      return `sqlite:${place.path}`;
    case "postgres":
      return withoutPassword(place.url);
  }
}

/** Up to the last @, because a password may hold one although it should not. */
function withoutPassword(url: string): string {
  const match = /^([a-z]+:\/\/)(?:(.*)@)?(.*)$/s.exec(url);
  const [scheme, user, rest] = [match?.[1] ?? "postgres://", match?.[2] ?? "", match?.[3] ?? ""];
  const name = user.split(":")[0]!;
  return `${scheme}${name === "" ? "" : `${name}@`}${rest.replace(/([?&]password=)[^&]*/g, "$1…")}`;
}

/** Opens a place; the caller closes it. A folder and a file are not made before the first write. */
export async function openPlace(place: Place): Promise<SessionStore> {
  switch (place.kind) {
    case "folder":
      return openFileStore({ root: place.root });
    case "sqlite": {
      // Only here: not every runtime that has files has SQLite, and `node:sqlite` warns when it is loaded.
      const { openSqliteFile } = await import("../entry/sqlite.ts");
      return await openSqliteFile({ path: place.path });
    }
    case "postgres": {
      const { openPostgresStore } = await import("../entry/postgres.ts");
      return await openPostgresStore({ url: place.url });
    }
  }
}
