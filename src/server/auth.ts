/**
 * Who is asking: bearer tokens, compared in constant time.
 *
 * @see RFC 6750
 * @module
 */
import type { Random } from "../../mod.ts";

/** The shortest token that is accepted, in characters. One that the server made has 43. */
export const TOKEN_LENGTH_MIN = 20;

/** The characters of a token. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** A token the server knows. */
export interface KnownToken {
  /** Names its root folder. Made from the token, and does not give it away. */
  readonly id: string;
  /** SHA-256 of the token. */
  readonly digest: Uint8Array;
}

/**
 * Makes a token of 256 random bits.
 *
 * @example
 * ```ts
 * import { newToken } from "./auth.ts";
 *
 * const token = newToken({ bytes: (sizeBytes) => new Uint8Array(sizeBytes) });
 * if (token.length !== 43) throw new Error("unreachable");
 * ```
 */
export function newToken(random: Random): string {
  return btoa(String.fromCharCode(...random.bytes(32))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * What the server keeps of a token.
 *
 * @throws {RangeError} when it is too short, or holds what a header cannot carry. The message does not hold it
 *
 * @example
 * ```ts
 * import { knownToken } from "./auth.ts";
 *
 * const { id } = await knownToken("correct-horse-battery");
 * if (!/^[0-9a-f]{16}$/.test(id)) throw new Error("unreachable");
 * ```
 */
export async function knownToken(token: string): Promise<KnownToken> {
  if (token.length < TOKEN_LENGTH_MIN || !TOKEN.test(token)) {
    throw new RangeError(
      `Cannot use the token: wanted at least ${TOKEN_LENGTH_MIN} characters of A-Z a-z 0-9 . _ ~ + / -`,
    );
  }
  const id = await digestOf(`holdfast token id\n${token}`);
  return { id: hex(id).slice(0, 16), digest: await digestOf(token) };
}

/**
 * Finds the token a request carries. Takes the same time for every token of the same length: digests are compared, whole, and
 * with every known token.
 *
 * @param header the value of `Authorization`
 * @returns the token's id, `null` when it is none of them
 *
 * @example
 * ```ts
 * import { knownToken, tokenOf } from "./auth.ts";
 *
 * const known = await knownToken("correct-horse-battery");
 * if (await tokenOf("Bearer correct-horse-battery", [known]) !== known.id) throw new Error("unreachable");
 * if (await tokenOf("Bearer something-else-entirely", [known]) !== null) throw new Error("unreachable");
 * ```
 */
export async function tokenOf(header: string | null, known: readonly KnownToken[]): Promise<string | null> {
  const given = /^Bearer ([^\s,]+)$/i.exec(header ?? "")?.[1] ?? "";
  const digest = await digestOf(given);
  let found: string | null = null;
  for (const token of known) if (equalBytes(digest, token.digest)) found = token.id;
  return found;
}

function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  let difference = left.length ^ right.length;
  for (let index = 0; index < left.length; index++) difference |= left[index]! ^ right[index]!;
  return difference === 0;
}

async function digestOf(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Lower-case hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
