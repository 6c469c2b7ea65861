import { assert, assertEquals, assertThrows } from "@std/assert";
import { bubblewrap, type FileView, type ProbeFacts, PROTECTED_NAMES, resolvePolicy } from "../../src/sandbox/mod.ts";
import { bubblewrapArguments } from "../../src/sandbox/bubblewrap.ts";
import { environmentOf, PASSED_VARIABLES } from "../../src/sandbox/environment.ts";
import { findProtected, SCAN_FOLDERS_MAX } from "../../src/sandbox/protected_paths.ts";
import { measuredGaps } from "../../src/sandbox/provider.ts";
import { DIMENSIONS, enforcementOf } from "../../src/sandbox/report.ts";
import { KEPT_BYTES, OutputKeeper } from "../../src/sandbox/kept_output.ts";
import { RUNNER_MESSAGE_BYTES_MAX, StartWatch } from "../../src/sandbox/start.ts";
import { resolved } from "./workspace.ts";

/** A file system of folders (names that end in /), files and links. */
function filesOf(paths: readonly string[], links: Readonly<Record<string, string>> = {}): FileView {
  const folders = new Set(paths.filter((path) => path.endsWith("/")).map((path) => path.slice(0, -1)));
  const files = new Set(paths.filter((path) => !path.endsWith("/")));
  return {
    realPath(path) {
      const real = links[path] ?? path;
      if (!folders.has(real) && !files.has(real)) throw new Error(`no ${path}`);
      return real;
    },
    kindOf: (path) => path in links ? "link" : folders.has(path) ? "folder" : files.has(path) ? "file" : null,
    foldersIn: (path) =>
      [...folders].filter((each) => each.startsWith(`${path}/`) && !each.slice(path.length + 1).includes("/"))
        .map((each) => each.slice(path.length + 1)),
  };
}

const variable = () => undefined;

const ALL_TRUE: ProbeFacts = {
  refusesOutside: true,
  keepsProtected: true,
  hasPrivateTmp: true,
  refusesPipes: true,
  hides: true,
  keepsMetadata: true,
  refusesConnections: true,
  filtersSockets: true,
  hasPrivateProcesses: true,
  refusesSignals: true,
  hasNoPrivileges: true,
  boundsProcesses: true,
  boundsMemory: true,
  hasCleanEnvironment: true,
};

Deno.test("resolvePolicy() fills in what is left out: read-only, no network, the workspace as working folder", () => {
  const policy = resolvePolicy({ workspace: "/srv/ws" }, { files: filesOf(["/srv/ws/"]), variable });
  assertEquals([policy.mode, policy.network, policy.cwd], ["read-only", "off", "/srv/ws"]);
});

Deno.test("resolvePolicy() follows links before it judges, and takes a folder from the workspace", () => {
  const files = filesOf(["/srv/ws/", "/srv/ws/a/", "/etc/"], { "/link": "/srv/ws", "/srv/ws/out": "/etc" });
  assertEquals(resolvePolicy({ workspace: "/link", cwd: "a" }, { files, variable }).cwd, "/srv/ws/a");
  const refused = (
    policy: Parameters<typeof resolvePolicy>[0],
    kind: typeof RangeError | typeof TypeError,
    said: string,
  ) => assertThrows(() => resolvePolicy(policy, { files, variable }), kind, said);
  refused({ workspace: "/link", cwd: "out" }, RangeError, "outside of the workspace");
  refused({ workspace: "/gone" }, RangeError, "no such folder");
  refused({ workspace: "srv/ws" }, TypeError, "not absolute");
  refused({ workspace: "/srv\0" }, TypeError, "not absolute");
  refused({ workspace: "/link", mode: "wild" as never }, TypeError, "no such mode");
  refused({ workspace: "/link", mode: "danger-full-access" }, TypeError, "never confined");
  refused({ workspace: "/link", network: "maybe" as never }, TypeError, "network");
});

Deno.test("resolvePolicy() hides what is there, and refuses to hide the workspace", () => {
  const files = filesOf(["/srv/", "/srv/ws/", "/srv/tokens/", "/srv/key"]);
  const host = { files, variable };
  const { hidden } = resolvePolicy({ workspace: "/srv/ws", hidden: ["/srv/tokens", "/srv/key", "/srv/gone"] }, host);
  assertEquals(hidden, [{ path: "/srv/tokens", isFolder: true }, { path: "/srv/key", isFolder: false }]);
  assertThrows(
    () => resolvePolicy({ workspace: "/srv/ws", hidden: ["/srv"] }, host),
    RangeError,
    "holds the workspace",
  );
});

Deno.test("findProtected() finds the names, and repositories below, and tells links apart", () => {
  const files = filesOf(
    [
      "/ws/",
      "/ws/.git/",
      "/ws/.envrc",
      "/ws/a/",
      "/ws/a/.git",
      "/ws/a/b/",
      "/ws/a/b/c/",
      "/ws/a/b/c/.git/",
      "/ws/node_modules/",
      "/ws/node_modules/x/",
      "/ws/node_modules/x/.git/",
    ],
    { "/ws/.vscode": "/elsewhere" },
  );
  assertEquals(findProtected("/ws", files), {
    protectedPaths: ["/ws/.git", "/ws/.envrc", "/ws/a/.git", "/ws/a/b/c/.git"],
    unprotectable: ["/ws/.vscode"],
    isScanned: true,
  });
});

Deno.test("findProtected() stops at its bound of folders, and the report says so", () => {
  const many = Array.from({ length: SCAN_FOLDERS_MAX + 1 }, (_, index) => `d${index}`);
  let looked = 0;
  const files: FileView = {
    realPath: (path) => path,
    kindOf: (path) => (looked += path.endsWith("/.git") ? 1 : 0, null),
    foldersIn: (path) => path === "/ws" ? many : [],
  };
  const { isScanned } = findProtected("/ws", files);
  // Its own, and those of as many folders as the bound allows.
  assertEquals([isScanned, looked], [false, 1 + SCAN_FOLDERS_MAX]);
  const policy = resolved({ mode: "workspace-write", isScanned });
  assertEquals(measuredGaps(ALL_TRUE, policy).map(({ dimension }) => dimension), ["files"]);
  assertEquals(findProtected("/ws", { ...files, foldersIn: () => [] }).isScanned, true);
});

Deno.test("environmentOf() passes the list on and nothing else, and checks what is added", () => {
  const found = environmentOf((name) => `host-${name}`, { CI: "1", HOME: "/own" });
  assertEquals(Object.keys(found).sort(), [...PASSED_VARIABLES, "CI", "HOME", "TMPDIR"].sort());
  assertEquals([found.CI, found.HOME, found.LANG], ["1", "/own", "host-LANG"]);
  const none: Record<string, string>[] = [{ "A=B": "1" }, { "": "1" }, { A: "x\0y" }, { A: 1 as never }];
  for (const added of none) {
    assertThrows(() => environmentOf(variable, added), TypeError, "Cannot set variable");
  }
  assert(environmentOf(variable).PATH !== "");
});

Deno.test("bubblewrapArguments() covers what is protected and hidden after the workspace is bound", () => {
  const args = bubblewrapArguments(
    ["ls"],
    resolved({
      mode: "workspace-write",
      protectedPaths: ["/ws/.git"],
      hidden: [{ path: "/ws/tokens", isFolder: true }, { path: "/key", isFolder: false }],
    }),
    { filterFd: 3 },
  ).join(" ");
  const order = [
    "--bind /ws /ws",
    "--ro-bind /ws/.git /ws/.git",
    "--tmpfs /ws/tokens --remount-ro /ws/tokens",
    "--ro-bind /dev/null /key",
    "--seccomp 3",
    "-- ls",
  ];
  assertEquals(
    order.map((part) => args.indexOf(part)).toSorted((a, b) => a - b),
    order.map((part) => args.indexOf(part)),
  );
  assert(order.every((part) => args.includes(part)));
});

Deno.test("an older bubblewrap is not given options it does not know, and what it lacks is reported", async () => {
  const old = bubblewrap({ program: "/usr/bin/bwrap", machine: "x86_64" });
  await old.prepare!({ shell: () => Promise.resolve("usage: bwrap --ro-bind --tmpfs --seccomp FD") });
  const { argv, input } = old.wrap(["ls"], resolved());
  assert(!argv.includes("--disable-userns") && !argv.includes("--size") && input !== null);
  assertEquals(enforcementOf(old.gaps({} as ProbeFacts, resolved())).processes, "partial");
  const unknown = bubblewrap({ machine: "riscv64" });
  assertEquals([unknown.hasSocketFilter, unknown.wrap(["ls"], resolved()).input], [false, null]);
});

Deno.test("measuredGaps() has a gap for every fact that is not so, and none when all are", () => {
  const facts = ALL_TRUE;
  const policy = resolved({
    mode: "workspace-write",
    protectedPaths: ["/ws/.git"],
    hidden: [{ path: "/key", isFolder: false }],
  });
  assertEquals(measuredGaps(facts, policy), []);
  assertEquals(enforcementOf([]), { files: "full", network: "full", processes: "full", environment: "full" });
  for (const name of Object.keys(facts)) {
    const gaps = measuredGaps({ ...facts, [name]: false }, policy);
    assertEquals(gaps.length, 1, name);
    assertEquals(enforcementOf(gaps)[gaps[0]!.dimension], "partial");
  }
  const on = resolved({ network: "on" });
  assertEquals(enforcementOf(measuredGaps(facts, on), ["network"]).network, "none");
  assertEquals(DIMENSIONS.length, 4);
  assert(PROTECTED_NAMES.includes(".git"));
});

Deno.test("OutputKeeper keeps all of a short output, and beginning and end of a long one, however it is cut", () => {
  const half = KEPT_BYTES / 2;
  const text = Array.from({ length: KEPT_BYTES }, (_, index) => String.fromCharCode(97 + index % 26)).join("") +
    "the end";
  for (const sizeBytes of [1, 7, 1000, half, half + 1, KEPT_BYTES + 7]) {
    const keeper = new OutputKeeper();
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += sizeBytes) keeper.add(bytes.subarray(at, at + sizeBytes));
    const kept = keeper.end();
    assertEquals([kept.sizeBytes, kept.isCut], [text.length, true]);
    assertEquals(kept.text, `${text.slice(0, half)}\n[7 bytes left out]\n${text.slice(-half)}`);
  }
  const short = new OutputKeeper();
  for (const byte of new TextEncoder().encode("é".repeat(half))) short.add(new Uint8Array([byte]));
  assertEquals(short.end(), { text: "é".repeat(half), sizeBytes: KEPT_BYTES, isCut: false });
});

Deno.test("StartWatch finds its token wherever a stream is cut, and keeps a bounded part of what comes before", () => {
  const all = new TextEncoder().encode("runner: hm\ntoken!own words token! again");
  for (let cut = 0; cut <= all.length; cut++) {
    const watch = new StartWatch("token!");
    const own = [all.slice(0, cut), all.slice(cut)].map((part) => new TextDecoder().decode(watch.take(part))).join("");
    assertEquals([own, watch.hasStarted, watch.runnerMessage], ["own words token! again", true, "runner: hm"]);
  }
  const never = new StartWatch("token!");
  for (let count = 0; count < 100; count++) never.take(new Uint8Array(1024).fill(120));
  assert(!never.hasStarted && never.runnerMessage.length <= RUNNER_MESSAGE_BYTES_MAX + 6);
});
