import { assertEquals, assertStringIncludes } from "@std/assert";
import { probeOpfs, type ProbeScope } from "../../../src/adapters/opfs/mod.ts";
import { FakeOrigin } from "./fake_opfs.ts";

/** The globals of a worker in which everything is there. */
function scopeOf(origin: FakeOrigin): ProbeScope & { navigator: { storage: object } } {
  const { platform } = origin.worker();
  return {
    navigator: {
      storage: { getDirectory: () => Promise.resolve(platform.origin), persisted: platform.persisted },
      locks: platform.locks,
    },
    FileSystemFileHandle: { prototype: { createSyncAccessHandle() {} } },
    DedicatedWorkerGlobalScope: class {},
    isSecureContext: true,
  };
}

/** A root on which the file has this to say when its handle is asked for. */
function withHandle(createSyncAccessHandle: () => Promise<never>): ProbeScope {
  const scope = scopeOf(new FakeOrigin());
  const origin = {
    getFileHandle: () => Promise.resolve({ createSyncAccessHandle }),
    removeEntry: () => Promise.resolve(),
  };
  const storage = { ...scope.navigator.storage, getDirectory: () => Promise.resolve(origin as never) };
  return { ...scope, navigator: { ...scope.navigator, storage } };
}

const refusing = (name: string): ProbeScope => {
  const scope = scopeOf(new FakeOrigin());
  const storage = { getDirectory: () => Promise.reject(new DOMException("not here", name)) };
  return { ...scope, navigator: { ...scope.navigator, storage } };
};

const OBSTACLES: readonly [string, ProbeScope, string, string][] = [
  ["no navigator", {}, "no-storage", "no origin private file system"],
  ["an old browser", { navigator: { storage: {} } }, "no-storage", "no origin private file system"],
  ["plain HTTP", { navigator: {}, isSecureContext: false }, "no-storage", "HTTPS"],
  ["no Web Locks", without("locks"), "no-locks", "Web Locks"],
  [
    "the page",
    { ...scopeOf(new FakeOrigin()), DedicatedWorkerGlobalScope: undefined },
    "no-worker",
    "dedicated worker",
  ],
  [
    "no sync handles",
    { ...scopeOf(new FakeOrigin()), FileSystemFileHandle: { prototype: {} } },
    "no-sync-handle",
    "sync",
  ],
  ["Firefox's private window", refusing("SecurityError"), "refused", "SecurityError: not here"],
  ["Safari's private window", refusing("UnknownError"), "refused", "UnknownError: not here"],
  [
    "handles in name only",
    withHandle(() => Promise.reject(new DOMException("Backend does not support this operation", "NotSupportedError"))),
    "not-supported",
    "NotSupportedError: Backend does not support this operation",
  ],
];

function without(part: "locks"): ProbeScope {
  const scope = scopeOf(new FakeOrigin());
  return { ...scope, navigator: { ...scope.navigator, [part]: undefined } };
}

for (const [label, scope, reason, words] of OBSTACLES) {
  Deno.test(`field/E10 probeOpfs() says why OPFS is unusable: ${label}`, async () => {
    const found = await probeOpfs(scope);
    assertEquals(found.usable ? null : found.reason, reason);
    assertStringIncludes(found.usable ? "" : found.message, words);
  });
}

Deno.test("probeOpfs() finds a usable origin, says whether it is kept, and leaves nothing", async () => {
  const origin = new FakeOrigin();
  assertEquals(await probeOpfs(scopeOf(origin)), { usable: true, persisted: false });
  origin.isPersisted = true;
  assertEquals(await probeOpfs(scopeOf(origin)), { usable: true, persisted: true });
  assertEquals([...origin.files.keys()], []);
});

Deno.test("probeOpfs() is not disturbed by another worker that probes", async () => {
  const scope = withHandle(() => Promise.reject(new DOMException("held", "NoModificationAllowedError")));
  assertEquals((await probeOpfs(scope)).usable, true);
});
