import { assertEquals } from "@std/assert";
import { neverSent } from "../../src/tools/never_sent.ts";

const failed = (cause: unknown) => new TypeError("fetch failed", { cause });
const coded = (code: string, more: object = {}) => failed(Object.assign(new Error(code), { code, ...more }));
const deno = (text: string) => failed(new Error(`error sending request${text}`));

/** As Deno 2.9 and Node 22 say it. */
const CERTAIN: readonly unknown[] = [
  new TypeError("Fetch failed: Requests to port 6000 are blocked"),
  new TypeError("Invalid URL http://127.0.0.1:2/aaaa"),
  new TypeError("Url scheme 'ftp' not supported"),
  new URIError("invalid host 'a..invalid': empty label found in FQDN"),
  Object.assign(new Error('Requires net access to "a:80", run again with the --allow-net flag'), {
    name: "NotCapable",
  }),
  deno(" for url (http://127.0.0.1:2/): client error (Connect): tcp connect error: Connection refused (os error 111)"),
  deno(" for url (http://a.invalid/): client error (Connect): dns error: failed to lookup address information"),
  deno(" for url (https://127.0.0.1:5/): client error (Connect): tls handshake eof"),
  deno(" for url (https://127.0.0.1:5/): client error (Connect): invalid peer certificate: UnknownIssuer"),
  failed(new Error("bad port")),
  failed(new Error("unknown scheme")),
  failed(
    Object.assign(new Error("Client network socket disconnected before secure TLS connection was established"), {
      code: "ECONNRESET",
    }),
  ),
  coded("ECONNREFUSED", { syscall: "connect" }),
  coded("ENETUNREACH", { syscall: "connect" }),
  coded("ETIMEDOUT", { syscall: "connect" }),
  coded("ENOTFOUND", { syscall: "getaddrinfo" }),
  coded("UND_ERR_CONNECT_TIMEOUT"),
  coded("DEPTH_ZERO_SELF_SIGNED_CERT"),
  failed(
    new AggregateError([
      coded("ECONNREFUSED", { syscall: "connect" }).cause,
      coded("EHOSTUNREACH", { syscall: "connect" }).cause,
    ]),
  ),
];

const DOUBTFUL: readonly unknown[] = [
  new TypeError("fetch failed"),
  new TypeError("said the server: Fetch failed: Requests to port 6000 are blocked"),
  new Error("anything else"),
  "a text",
  undefined,
  failed("a text"),
  failed(new Error("Connection reset by peer (os error 104)")),
  deno(
    " from 127.0.0.1:3 for http://127.0.0.1:5/ (127.0.0.1:5): client error (SendRequest): connection closed before message completed",
  ),
  deno(" for url (http://127.0.0.1:5/): client error (SendRequest): because: client error (Connect): x"),
  coded("ECONNRESET", { syscall: "read" }),
  coded("EPIPE", { syscall: "write" }),
  coded("ETIMEDOUT", { syscall: "read" }),
  coded("UND_ERR_SOCKET"),
  coded("UND_ERR_HEADERS_TIMEOUT"),
  // With TLS 1.3 a server may refuse the certificate of a client that has already sent its request.
  coded("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"),
  coded("HPE_INVALID_CONSTANT"),
  failed(new AggregateError([])),
  failed(
    new AggregateError([
      coded("ECONNREFUSED", { syscall: "connect" }).cause,
      coded("ECONNRESET", { syscall: "read" }).cause,
    ]),
  ),
];

Deno.test("neverSent() knows what fails before the first byte, and takes no doubt for it", () => {
  const told = (error: unknown) =>
    error instanceof Error ? `${error.message} ${(error.cause as Error)?.message}` : String(error);
  for (const error of CERTAIN) assertEquals(neverSent(error), true, told(error));
  for (const error of DOUBTFUL) assertEquals(neverSent(error), false, told(error));
});
