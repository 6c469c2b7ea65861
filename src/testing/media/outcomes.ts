/**
 * A list of contents in which each comes once.
 *
 * @module
 */

import type { Content } from "./content.ts";

/** One content that a file may have after a power cut. */
export interface FileOutcome {
  readonly content: Content;
  /** For a person. */
  describe(): string;
}

/** Outcomes, each content once, as their digests tell. */
export class Outcomes {
  readonly list: FileOutcome[] = [];
  readonly #seen = new Set<string>();

  add(content: Content, describe: () => string): void {
    if (this.#seen.has(content.digest)) return;
    this.#seen.add(content.digest);
    this.list.push({ content, describe });
  }
}
