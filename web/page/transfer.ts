/**
 * Logs out of the page and into it, byte for byte.
 *
 * @module
 */

/** The largest file that is taken in: it is read whole. */
export const IMPORT_SIZE_BYTES_MAX = 512 * 1024 * 1024;
/** How long the address of a download stays valid after the click. */
const DOWNLOAD_MS = 10_000;

/** Hands bytes to the browser's downloads. */
export function download(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), DOWNLOAD_MS);
}

/**
 * Reads a file a person chose or dropped.
 *
 * @throws {RangeError} when it is too large
 * @throws {TypeError} when it cannot be read, as a folder cannot
 */
export async function readFile(file: File): Promise<Uint8Array<ArrayBuffer>> {
  if (file.size > IMPORT_SIZE_BYTES_MAX) {
    throw new RangeError(`Cannot import "${file.name}": ${file.size} bytes, and ${IMPORT_SIZE_BYTES_MAX} is the most`);
  }
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`Cannot import "${file.name}": it is a folder, or cannot be read (${found})`, { cause });
  }
}
