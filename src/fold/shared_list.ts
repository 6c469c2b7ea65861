/**
 * A list whose versions share one array: adding to the newest version costs one push, adding to an older one a copy.
 *
 * A fold over a long log adds to the same list tens of thousands of times and may not change what it was given. Copying the
 * list each time would make the replay quadratic.
 *
 * @module
 */

/**
 * An immutable list. `JSON.stringify` turns it into an array, {@linkcode SharedList.from} turns an array into it.
 *
 * @example
 * ```ts
 * import { SharedList } from "./shared_list.ts";
 *
 * const one = SharedList.from(["a"]);
 * const two = one.with("b");
 * if (one.length !== 1 || [...two].join() !== "a,b") throw new Error("unreachable");
 * ```
 */
export class SharedList<Item> {
  /** How many of the first items of `#items` belong to this version. */
  readonly length: number;
  /** Shared between versions, only ever grows at its end: what is before any version's `length` never changes. */
  readonly #items: Item[];

  private constructor(items: Item[], length: number) {
    this.#items = items;
    this.length = length;
  }

  /** Copies an array into a list. */
  static from<Item>(items: readonly Item[]): SharedList<Item> {
    return new SharedList([...items], items.length);
  }

  /** This list and one more item. This version stays as it is. */
  with(item: Item): SharedList<Item> {
    const isNewest = this.#items.length === this.length;
    const items = isNewest ? this.#items : this.toArray();
    items.push(item);
    return new SharedList(items, this.length + 1);
  }

  /** This list with the items from index `first` to index `last`, both included, replaced by one. */
  withSpan(first: number, last: number, item: Item): SharedList<Item> {
    const items = this.toArray();
    items.splice(first, last - first + 1, item);
    return new SharedList(items, items.length);
  }

  /** The item at an index; negative counts from the end; `undefined` outside. */
  at(index: number): Item | undefined {
    const found = index < 0 ? this.length + index : index;
    return found < this.length ? this.#items[found] : undefined;
  }

  /** The items as a new array. */
  toArray(): Item[] {
    return this.#items.slice(0, this.length);
  }

  /** What `JSON.stringify` writes. */
  toJSON(): Item[] {
    return this.toArray();
  }

  *[Symbol.iterator](): IterableIterator<Item> {
    for (let index = 0; index < this.length; index++) yield this.#items[index]!;
  }
}
