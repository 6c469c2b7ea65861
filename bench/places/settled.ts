/**
 * Events of IndexedDB as promises.
 *
 * @module
 */

/** Resolves at the event, rejects with the source's error. */
export function settled<Value>(
  source: EventTarget & { readonly error: DOMException | null },
  event: string,
  value: () => Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    source.addEventListener(event, () => resolve(value()));
    for (const name of ["error", "abort"]) source.addEventListener(name, () => reject(source.error));
  });
}
