/**
 * Names of files that are not published yet.
 *
 * @module
 */

import { randomBytes } from "node:crypto";

const STAGING_NAME = /^(.+)\.[0-9a-f]{12}\.(tmp|claim)$/s;

/** A fresh name beside `path`, as `session-format.md` §6 spells it. */
export function stagingPath(path: string): string {
  return `${path}.${randomBytes(6).toString("hex")}.tmp`;
}

/**
 * The name of a stage that is about to be published by claim. While it is there, a published name of no bytes, or whose first
 * byte is 0, is a claim and no file yet; without it such a file is what it looks like, and somebody should see it.
 */
export function claimPath(stagingPath: string): string {
  return stagingPath.replace(/tmp$/, "claim");
}

/** What a staging name was going to become, or `null` for any other name. */
export function parseStagingName(name: string): { readonly finalName: string; readonly isClaim: boolean } | null {
  const match = STAGING_NAME.exec(name);
  if (match === null) return null;
  return { finalName: match[1] ?? "", isClaim: match[2] === "claim" };
}
