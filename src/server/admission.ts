/**
 * What is looked at before anything else: where a request was sent, and by whose page.
 *
 * A page of a stranger can make a browser send requests here, also under a name that it made point to this machine. So the
 * `Host` must be one of ours, and an `Origin` must be our own or on the list.
 *
 * @see RFC 6454; RFC 9110 §7.2
 * @module
 */
import { HEADERS_LENGTH_MAX } from "./limits.ts";
import { Refusal } from "./problem.ts";

/** Methods any route has. */
const METHODS: readonly string[] = ["GET", "POST", "DELETE", "OPTIONS"];

/** Headers a page of an allowed origin may send. */
const ALLOWED_HEADERS = "authorization, content-type, idempotency-key, last-event-id";

/** Whom the server listens to. */
export interface AdmissionOptions {
  /** Whether this is a name of ours, with its port, in lower case. */
  readonly isHost: (host: string) => boolean;
  /** Origins of other pages that may ask, such as `https://example.com`. */
  readonly allowOrigins: readonly string[];
}

/**
 * Admits a request or refuses it.
 *
 * @returns the origin the answer is for, `null` when it needs no header
 * @throws {Refusal}
 *
 * @example
 * ```ts
 * import { admit } from "./admission.ts";
 *
 * const options = { isHost: (host: string) => host === "localhost:1", allowOrigins: [] };
 * const request = new Request("http://localhost:1/", { headers: { host: "localhost:1" } });
 * if (admit(request, options) !== null) throw new Error("unreachable");
 * ```
 */
export function admit(request: Request, { isHost, allowOrigins }: AdmissionOptions): string | null {
  const { headers, method } = request;
  let length = 0;
  for (const [name, value] of headers) length += name.length + value.length + 4;
  if (length > HEADERS_LENGTH_MAX) {
    throw new Refusal(431, "HEADERS_TOO_LARGE", `Cannot read the headers: they are over ${HEADERS_LENGTH_MAX}`);
  }
  const url = urlOf(request);
  const host = headers.get("host")?.toLowerCase() ?? url?.host ?? "";
  // An address in the request line may say another name than the header. HTTP/2 has only the first of the two.
  if (url === null || !isHost(host) || url.host !== host) {
    throw new Refusal(421, "HOST_REFUSED", "Cannot answer under this name: the Host is not one of this server");
  }
  if (!METHODS.includes(method)) {
    throw new Refusal(405, "METHOD_NOT_ALLOWED", "Cannot use this method", { allow: METHODS });
  }
  if (headers.has("transfer-encoding") && headers.has("content-length")) {
    throw new Refusal(400, "INVALID_REQUEST", "Cannot read the body: it has two lengths");
  }
  const origin = headers.get("origin");
  if (origin === null) {
    if (headers.get("sec-fetch-site") === "cross-site") throw strangeOrigin();
    return null;
  }
  if (origin === `${url.protocol}//${host}`) return null;
  if (!allowOrigins.includes(origin)) throw strangeOrigin();
  return origin;
}

/**
 * The answer to a browser that asks whether a page of an allowed origin may go on.
 *
 * @example
 * ```ts
 * import { preflight } from "./admission.ts";
 *
 * if (preflight().status !== 204) throw new Error("unreachable");
 * ```
 */
export function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": METHODS.join(", "),
      "access-control-allow-headers": ALLOWED_HEADERS,
      "access-control-max-age": "600",
    },
  });
}

/** `null` when its name is none. */
function urlOf(request: Request): URL | null {
  try {
    return new URL(request.url);
  } catch {
    return null;
  }
}

function strangeOrigin(): Refusal {
  return new Refusal(
    403,
    "ORIGIN_REFUSED",
    "Cannot answer a page of this origin: it is not on the list of --allow-origin",
  );
}
