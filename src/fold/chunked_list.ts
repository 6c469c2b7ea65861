/**
 * A list for folds that change it in its middle: a change copies one chunk and the row of chunks, never the whole list, and an
 * item is found by its key without looking at most of the others.
 *
 * @module
 */

/** How many items a chunk has at least before the next one is begun. */
const CHUNK_ITEMS = 256;

/** How many keys a chunk remembers at most; beyond it, it looks anew which ones it holds. */
const CHUNK_KEYS_MAX = 4 * CHUNK_ITEMS;

/** A run of items. Never changed. */
class Chunk<Item> {
  readonly items: readonly Item[];
  readonly length: number;
  /** Keys that may be in here, all that are among them. Chunks that come from each other share it, and only add to it. */
  #keys: Set<unknown> | null = null;

  constructor(items: readonly Item[]) {
    this.items = items;
    this.length = items.length;
  }

  mayHold(key: unknown, keyOf: (item: Item) => unknown): boolean {
    if (this.#keys === null) {
      this.#keys = new Set();
      for (let index = 0; index < this.length; index++) this.#keys.add(keyOf(this.items[index]!));
    }
    return this.#keys.has(key);
  }

  /** The chunk with some items replaced; `null` when none are left. */
  withSpan(
    first: number,
    count: number,
    items: readonly Item[],
    keyOf: (item: Item) => unknown,
  ): Chunk<Item> | null {
    const changed = this.items.toSpliced(first, count, ...items);
    if (changed.length === 0) return null;
    const chunk = new Chunk(changed);
    if (this.#keys !== null && this.#keys.size < CHUNK_KEYS_MAX) {
      for (const item of items) this.#keys.add(keyOf(item));
      chunk.#keys = this.#keys;
    }
    return chunk;
  }
}

/**
 * An immutable list. `JSON.stringify` turns it into an array, {@linkcode ChunkedList.from} turns an array into it.
 *
 * Adding to the newest version costs one push, adding to an older one a copy of one chunk.
 *
 * @example
 * ```ts
 * import { ChunkedList } from "./chunked_list.ts";
 *
 * const one = ChunkedList.from(["a", "b", "c"], (item) => item);
 * const two = one.withSpan(0, 1, "x").with("d");
 * if (one.length !== 3 || [...two].join() !== "x,c,d") throw new Error("unreachable");
 * if (two.findIndex("c") !== 1) throw new Error("unreachable");
 * ```
 */
export class ChunkedList<Item> {
  /** How many items this version holds. */
  readonly length: number;
  readonly #chunks: readonly Chunk<Item>[];
  /** The items behind the chunks. Shared between versions, only ever grows at its end. */
  readonly #tail: Item[];
  /** How many of them belong to this version. */
  readonly #tailLength: number;
  readonly #keyOf: (item: Item) => unknown;
  #array: readonly Item[] | null = null;

  private constructor(
    chunks: readonly Chunk<Item>[],
    tail: Item[],
    tailLength: number,
    length: number,
    keyOf: (item: Item) => unknown,
  ) {
    this.#chunks = chunks;
    this.#tail = tail;
    this.#tailLength = tailLength;
    this.length = length;
    this.#keyOf = keyOf;
  }

  /**
   * Copies an array into a list.
   *
   * @param keyOf the key an item is found by; it need not be unique
   */
  static from<Item>(items: readonly Item[], keyOf: (item: Item) => unknown): ChunkedList<Item> {
    const chunks: Chunk<Item>[] = [];
    let at = 0;
    for (; items.length - at > CHUNK_ITEMS; at += CHUNK_ITEMS) {
      chunks.push(new Chunk(items.slice(at, at + CHUNK_ITEMS)));
    }
    const tail = items.slice(at);
    return new ChunkedList(chunks, tail, tail.length, items.length, keyOf);
  }

  /** A list of other items that are found by the same keys. */
  filledWith(items: readonly Item[]): ChunkedList<Item> {
    return ChunkedList.from(items, this.#keyOf);
  }

  /** This list and one more item. This version stays as it is. */
  with(item: Item): ChunkedList<Item> {
    const length = this.length + 1;
    if (this.#tailLength >= CHUNK_ITEMS) {
      const chunks = [...this.#chunks, new Chunk(this.#tail.slice(0, this.#tailLength))];
      return new ChunkedList(chunks, [item], 1, length, this.#keyOf);
    }
    const isNewest = this.#tail.length === this.#tailLength;
    const tail = isNewest ? this.#tail : this.#tail.slice(0, this.#tailLength);
    tail.push(item);
    return new ChunkedList(this.#chunks, tail, tail.length, length, this.#keyOf);
  }

  /** This list with the items from index `first` to index `last`, both included, replaced by others, or by none. */
  withSpan(first: number, last: number, ...items: readonly Item[]): ChunkedList<Item> {
    const length = this.length - (last - first + 1) + items.length;
    const from = this.#place(first);
    const to = this.#place(last);
    const chunk = this.#chunks[from.chunk];
    if (chunk !== undefined && from.chunk === to.chunk) {
      const changed = chunk.withSpan(from.index, last - first + 1, items, this.#keyOf);
      const chunks = changed === null ? this.#chunks.toSpliced(from.chunk, 1) : this.#chunks.with(from.chunk, changed);
      return new ChunkedList(chunks, this.#tail, this.#tailLength, length, this.#keyOf);
    }
    const tail = this.#tail.slice(0, this.#tailLength);
    const head = (chunk?.items ?? tail).slice(0, from.index);
    const target = this.#chunks[to.chunk];
    const merged = [...head, ...items, ...(target?.items ?? tail).slice(to.index + 1)];
    const before = this.#chunks.slice(0, from.chunk);
    if (target === undefined) return new ChunkedList(before, merged, merged.length, length, this.#keyOf);
    const middle = merged.length === 0 ? [] : [new Chunk(merged)];
    const chunks = [...before, ...middle, ...this.#chunks.slice(to.chunk + 1)];
    return new ChunkedList(chunks, this.#tail, this.#tailLength, length, this.#keyOf);
  }

  /** The index of the first item with this key that is accepted, −1 when there is none. */
  findIndex(key: unknown, accept: (item: Item) => boolean = () => true): number {
    let before = 0;
    for (const chunk of this.#chunks) {
      if (chunk.mayHold(key, this.#keyOf)) {
        const index = this.#indexIn(chunk.items, chunk.length, key, accept);
        if (index !== -1) return before + index;
      }
      before += chunk.length;
    }
    const index = this.#indexIn(this.#tail, this.#tailLength, key, accept);
    return index === -1 ? -1 : before + index;
  }

  /** The item at an index; negative counts from the end; `undefined` outside. */
  at(index: number): Item | undefined {
    let left = index < 0 ? this.length + index : index;
    if (left < 0 || left >= this.length) return undefined;
    for (const chunk of this.#chunks) {
      if (left < chunk.length) return chunk.items[left];
      left -= chunk.length;
    }
    return this.#tail[left];
  }

  /** The items from index `first` to index `last`, both included. */
  *between(first: number, last: number): IterableIterator<Item> {
    let before = 0;
    for (const { items, length } of [...this.#chunks, { items: this.#tail, length: this.#tailLength }]) {
      const end = Math.min(length, last + 1 - before);
      for (let index = Math.max(0, first - before); index < end; index++) yield items[index]!;
      before += length;
      if (before > last) return;
    }
  }

  /** The items as an array, the same one each time. */
  toArray(): readonly Item[] {
    return this.#array ??= [...this];
  }

  /** What `JSON.stringify` writes. */
  toJSON(): readonly Item[] {
    return this.toArray();
  }

  /** The items of this version in order, also when newer versions are made meanwhile. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.between(0, this.length - 1);
  }

  /** Which chunk an index lies in, one more than the last for the tail, and where in it. */
  #place(index: number): { readonly chunk: number; readonly index: number } {
    if (index < 0 || index >= this.length) throw new RangeError(`Cannot replace a span: there is no index ${index}`);
    let chunk = 0;
    for (; chunk < this.#chunks.length; chunk++) {
      const { length } = this.#chunks[chunk]!;
      if (index < length) break;
      index -= length;
    }
    return { chunk, index };
  }

  #indexIn(items: readonly Item[], length: number, key: unknown, accept: (item: Item) => boolean): number {
    for (let index = 0; index < length; index++) {
      const item = items[index]!;
      if (this.#keyOf(item) === key && accept(item)) return index;
    }
    return -1;
  }
}
