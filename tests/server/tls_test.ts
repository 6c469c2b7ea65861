/**
 * A server that speaks TLS, with a certificate that is made for the test.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { demo } from "../../mod.ts";
import { createAgent } from "../../src/agent/mod.ts";
import { serve } from "../../src/server/deno.ts";
import { EventStream, TOKEN } from "./server_support.ts";

const NAME = "box.example";

/** Whether a certificate can be made here. */
const canCertify = await certify("/dev/null", "version").then(() => true, () => false);
if (!canCertify) console.log("2 cases not run: there is no openssl to make a certificate with");

async function certify(folder: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", { args, cwd: folder === "/dev/null" ? "/" : folder })
    .output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** A key and a certificate of its own for a name and the loopback addresses. */
async function certificate(folder: string): Promise<{ cert: string; key: string }> {
  await certify(
    folder,
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
    ...["-keyout", "key.pem", "-out", "cert.pem", "-subj", `/CN=${NAME}`],
    ...["-addext", `subjectAltName=DNS:${NAME},DNS:localhost,IP:127.0.0.1`],
    ...["-addext", "basicConstraints=critical,CA:FALSE"],
  );
  return {
    cert: await Deno.readTextFile(`${folder}/cert.pem`),
    key: await Deno.readTextFile(`${folder}/key.pem`),
  };
}

Deno.test({
  name: "with TLS it listens everywhere without --insecure, answers under its names alone, and streams",
  ignore: !canCertify,
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "holdfast-tls-" });
    const tls = await certificate(root);
    using client = Deno.createHttpClient({ caCerts: [tls.cert] });
    const serving = await serve({
      ...{ root: `${root}/data`, tokens: [TOKEN], hostname: "0.0.0.0", tls, allowHosts: [NAME, "localhost"] },
      agentWith: (store, approver) => createAgent({ store, model: demo(), approvers: [approver] }),
    });
    const { port } = serving;
    try {
      assertEquals(serving.origin, `https://0.0.0.0:${port}`);
      const ask = (path: string, init: RequestInit & { origin?: string } = {}) =>
        fetch(`${init.origin ?? `https://localhost:${port}`}${path}`, {
          ...init,
          headers: { authorization: `Bearer ${TOKEN}`, ...init.headers },
          client,
        } as RequestInit);
      const body = JSON.stringify({ id: "a" });
      const json = { "content-type": "application/json" };
      const created = await ask("/v1/sessions", { method: "POST", body, headers: json });
      assertEquals(created.status, 201);
      await created.body?.cancel();
      {
        const get = (
          path: string,
          { headers, signal }: { headers?: Readonly<Record<string, string>>; signal?: AbortSignal } = {},
        ) => ask(path, { headers, signal });
        await using stream = await EventStream.open({ ask: get }, "a");
        const input = { method: "POST", body: JSON.stringify({ text: "hello" }), headers: json };
        assertEquals(await (await ask("/v1/sessions/a/inputs", input)).json().then(({ repeated }) => repeated), false);
        await stream.event("turn/end");
      }
      // An address that is on the certificate, and is no name of ours.
      const strange = await ask("/healthz", { origin: `https://127.0.0.1:${port}` });
      assertEquals([strange.status, (await strange.json()).code], [421, "HOST_REFUSED"]);
      // Its own origin has the scheme; the same name without TLS is another one.
      for (const [scheme, status] of [["https", 200], ["http", 403]] as const) {
        const response = await ask("/v1/sessions", { headers: { origin: `${scheme}://localhost:${port}` } });
        assertEquals(response.status, status, scheme);
        await response.body?.cancel();
      }
      // Nobody gets the token's answers in the clear, and whoever does not know the certificate gets none.
      await assertRejects(() => fetch(`http://localhost:${port}/healthz`));
      await assertRejects(() => fetch(`https://localhost:${port}/healthz`));
    } finally {
      assertEquals(await serving.shutdown(0), true);
      await Deno.remove(root, { recursive: true });
    }
  },
});

Deno.test({
  name: "holdfast serve --cert --key: it says https, answers there, and ends with 0; without one of the two it says so",
  ignore: !canCertify,
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "holdfast-tls-" });
    const tls = await certificate(root);
    using client = Deno.createHttpClient({ caCerts: [tls.cert] });
    const start = (...flags: string[]) =>
      new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", "--no-check", new URL("../../src/cli/main.ts", import.meta.url).pathname, "serve", "--json"],
          ...[
            "--root",
            `${root}/data`,
            "--workspace",
            `${root}/workspace`,
            "--port",
            "0",
            "--sandbox",
            "off",
            ...flags,
          ],
        ],
        ...{ stdin: "null", stdout: "piped", stderr: "piped" },
      }).spawn();
    try {
      const half = await start("--cert", `${root}/cert.pem`).output();
      assertEquals(half.code, 2);
      assert(new TextDecoder().decode(half.stdout).includes("wanted both --cert and --key"));
      const swapped = await start("--cert", `${root}/key.pem`, "--key", `${root}/cert.pem`).output();
      assert(swapped.code !== 0 && new TextDecoder().decode(swapped.stdout).includes('"error"'));

      const child = start("--cert", `${root}/cert.pem`, "--key", `${root}/key.pem`);
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const noted = new Response(child.stderr).text();
      let said = "";
      while (!said.includes("}")) said += (await reader.read()).value ?? "}";
      const { origin, token } = JSON.parse(said);
      assert(origin.startsWith("https://127.0.0.1:"), origin);
      // A start that could not listen has not used up the one time it is shown.
      assert(typeof token === "string");
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${origin}/v1/sessions`, { headers, client } as RequestInit);
      assertEquals((await response.json()).sessions, []);
      child.kill("SIGTERM");
      const { code } = await child.status;
      await reader.cancel();
      assertEquals(code, 0, await noted);
      await noted;
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
