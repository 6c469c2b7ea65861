import { assertEquals } from "@std/assert";
import { MemoryStorage } from "../../../src/entry/memory.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { CountingRunner, keyOf, type SandboxServer, sandboxServer } from "./sandbox_support.ts";

const KEYS = 24;
const REQUESTS = 1500;
const AT_ONCE = 12;
/** After so many requests the process is killed and another one goes on. */
const LIFE = 150;

/** Values that fit a member of a request, and values that do not. */
const VALUES: readonly unknown[] = [
  ...[
    "make",
    "",
    "a\0b",
    "\u{1F600}",
    "x".repeat(200_000),
    "read-only",
    "off",
    "on",
    "..",
    0,
    -1,
    1,
    5,
    1e308,
    null,
    true,
  ],
  ...[[], ["ls"], ["ls", ""], [""], [1], {}, { a: 1 }],
];
const MEMBERS = ["effectKey", "argv", "script", "mode", "network", "cwd", "timeoutMs", "waitMs", "__proto__", "other"];

Deno.test("requests in any order, spoilt, side by side, over kills: only 2xx and 4xx, and no key runs twice or after it was absent", async () => {
  for (const seed of [1, 2, 3]) {
    const random = seededRandom(seed);
    const runner = new CountingRunner();
    const runsOf = (key: number) => runner.started.filter(({ argv }) => argv.at(-1) === `key ${key}`).length;
    /** Keys that some client was told are absent. */
    const absent = new Set<number>();
    const statuses = new Map<number, number>();
    let storage = new MemoryStorage({ simulate: "disk" });
    let server: SandboxServer = await sandboxServer({ storage, runner, parts: { limits: { limits: { keysMax: 5 } } } });

    const send = async (isAlive: () => boolean): Promise<void> => {
      const key = random.below(KEYS);
      const choice = random.below(10);
      const path = choice < 5 ? "" : `/${keyOf(key)}${["", "/settle", "/settle", "/cancel", "/x"][choice - 5]}`;
      const body: Record<string, unknown> = choice < 5
        ? { effectKey: keyOf(key), script: `key ${key}`, waitMs: random.below(2) * 1000 }
        : {};
      if (random.below(4) === 0) {
        body[MEMBERS[random.below(MEMBERS.length)]!] = VALUES[random.below(VALUES.length)];
      }
      const response = await server.ask(path, choice === 5 ? undefined : body);
      const text = await response.text();
      // Of a process that was killed nobody hears anything.
      if (!isAlive()) return;
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      const isWanted = response.status < 300 || (response.status >= 400 && response.status < 500);
      if (!isWanted) throw new Error(`Seed ${seed}: ${path} ${JSON.stringify(body).slice(0, 300)}: ${text}`);
      if (response.status === 200 && JSON.parse(text).state === "absent") absent.add(key);
    };

    for (let sent = 0; sent < REQUESTS; sent += LIFE) {
      let isAlive = true;
      const release = runner.hold();
      let next = 0;
      const clients = Array.from({ length: AT_ONCE }, async () => {
        while (next++ < LIFE && isAlive) {
          if (next === LIFE / 2) release();
          await send(() => isAlive);
        }
      });
      await clients[random.below(AT_ONCE)];
      isAlive = false;
      const left = storage.crash({ keepUnsynced: random.below(2) === 0 ? "none" : "all" });
      release();
      await Promise.all(clients);
      storage = left;
      server = await sandboxServer({ storage, runner, parts: { limits: { limits: { keysMax: 5 } } } });
      for (let key = 0; key < KEYS; key++) {
        if (runsOf(key) > 1) throw new Error(`Seed ${seed}: key ${key} ran ${runsOf(key)} times`);
        if (absent.has(key) && runsOf(key) > 0) throw new Error(`Seed ${seed}: key ${key} was absent and ran`);
      }
    }
    const reached = [200, 202, 400, 404, 410].filter((status) => statuses.has(status));
    assertEquals(reached, [200, 202, 400, 404, 410], `seed ${seed} reached ${[...statuses]}`);
    assertEquals(runner.started.length > 3 && absent.size > 3, true, `seed ${seed}: ${runner.started.length} ran`);
    await server.endpoint.close();
  }
});
