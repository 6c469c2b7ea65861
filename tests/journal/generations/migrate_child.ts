/**
 * Migrates the session "s" under a folder, and says how it went.
 *
 * @module
 */
import { migrateFileSession, openFileStore } from "../../../src/entry/file.ts";

const [root, waitMs] = Deno.args as [string, string?];
Deno.stdout.writeSync(new TextEncoder().encode("ready\n"));
try {
  const { outcome } = await migrateFileSession({ root }, "s", { waitMs: Number(waitMs ?? 0) });
  Deno.stdout.writeSync(new TextEncoder().encode(`${outcome}\n`));
  // Whoever migrates usually goes on: a kill may come there too.
  await using store = openFileStore({ root });
  await (await store.open("s", "write", { waitMs: 60_000 })).close();
} catch (error) {
  console.log((error as { readonly code?: string }).code ?? String(error));
}
