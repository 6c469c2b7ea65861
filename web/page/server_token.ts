/**
 * The token of the server that gave the page, as far as the page has one.
 *
 * It comes in the fragment of the address, which a browser sends to nobody, and is taken out of it at once: an address is shown,
 * copied and kept in the history. It is kept for this tab alone, and for as long as the tab lives, so that a reload can ask what
 * became of a command.
 *
 * @module
 */

/** Under which name the tab keeps it. */
const KEY = "holdfast-server-token";
/** The longest token that is taken. */
const TOKEN_LENGTH_MAX = 1024;

/** What is used of the browser. */
export interface TokenPlace {
  readonly location: { readonly hash: string; readonly pathname: string; readonly search: string };
  readonly history: { replaceState(data: unknown, unused: string, url: string): void };
  readonly sessionStorage: Pick<Storage, "getItem" | "setItem">;
}

/** Takes the token out of the address, or gives the one that this tab took earlier; `null` without one. */
export function serverToken(place: TokenPlace = globalThis as unknown as TokenPlace): string | null {
  const { location, history } = place;
  const fields = new URLSearchParams(location.hash.slice(1));
  const given = fields.get("token");
  if (given !== null) {
    fields.delete("token");
    const rest = fields.toString();
    history.replaceState(null, "", rest === "" ? location.pathname + location.search : `#${rest}`);
  }
  const isUsable = given !== null && given !== "" && given.length <= TOKEN_LENGTH_MAX;
  try {
    if (isUsable) place.sessionStorage.setItem(KEY, given);
    else return place.sessionStorage.getItem(KEY);
  } catch {
    // Without a place to keep it, it is gone with the page.
  }
  return isUsable ? given : null;
}
