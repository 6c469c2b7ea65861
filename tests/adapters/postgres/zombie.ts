/**
 * Owners that are stopped past their lease and wake up: whoever took over must be told the truth, and the old one must notice.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openSession, type SessionEvent } from "../../../mod.ts";
import { openPostgresStore } from "../../../src/entry/postgres.ts";
import type { TestPostgres } from "../../support/postgres.ts";
import { fromFileUrl } from "../../support/paths.ts";
import { freshPlace, removePlace } from "./context.ts";
import type { StopAt, ZombieReport, ZombieTrial } from "./zombie_child.ts";

/** How long an owner that says nothing counts as alive, in milliseconds. */
const LEASE_MS = 600;

/** How long the new owner waits for the session, in milliseconds. Generous: the machine is shared. */
const TAKEOVER_MS_MAX = 60_000;

/** What was seen in all trials. */
export interface ZombieTally {
  readonly trials: number;
  /** Those whose owner was fenced and whose body did not run. */
  readonly fenced: number;
  /** Those of which the new owner said that the outcome is unknown. */
  readonly unknown: number;
}

/** Runs trials one after the other with one process that stops again and again. */
export async function zombieTrials(server: TestPostgres, stopAt: StopAt, count: number): Promise<ZombieTally> {
  const place = freshPlace(server.url);
  const folder = await Deno.makeTempDir();
  const effects = `${folder}/effects`;
  await Deno.writeTextFile(effects, "");
  const zombie = new Zombie();
  const store = await openPostgresStore(place);
  let fenced = 0, unknown = 0;
  try {
    for (let index = 0; index < count; index++) {
      const id = `${stopAt}-${index}`;
      const ended = zombie.run({ place, leaseMs: LEASE_MS, id, stopAt, effects });
      await zombie.whenStopped();

      const { session, resumed } = await openSession({ store, id, waitMs: TAKEOVER_MS_MAX });
      const events = (await session.history()).events;
      const classes = resumed.calls.map((call) => call.class);
      const wasMarked = stopAt === "after" || stopAt === "body";
      assertEquals(hasMarker(events), wasMarked, `${id}: whether the marker is durable`);

      zombie.wake();
      const { bodies, failure } = await ended;
      // Of a zombie's body nothing may come into the log, whatever it did.
      await session.flush();
      await session.close();
      const after = await everything(store, id);
      const results = after.filter(({ type }) => type === "tool/result");
      if (wasMarked) {
        assertEquals(classes, ["outcome_unknown"], id);
        assertEquals(results.map(codeOf), ["TOOL_OUTCOME_UNKNOWN"], id);
        assertEquals(failure, "FENCED", `${id}: what came behind the barrier is not in the log`);
        unknown += 1;
      } else {
        assert(classes.every((name) => name !== "outcome_unknown"), `${id}: ${classes}`);
        assertEquals({ bodies, failure }, { bodies: 0, failure: "FENCED" }, id);
        assert(!(await Deno.readTextFile(effects)).split("\n").includes(id), `${id}: the body ran`);
        fenced += 1;
      }
    }
  } finally {
    await zombie.end();
    await store.close();
    await removePlace(place);
    await Deno.remove(folder, { recursive: true });
  }
  return { trials: count, fenced, unknown };
}

async function everything(store: Awaited<ReturnType<typeof openPostgresStore>>, id: string): Promise<SessionEvent[]> {
  const reader = await store.open(id, "read");
  await using _ = reader;
  return [...(await reader.read()).events];
}

function hasMarker(events: readonly SessionEvent[]): boolean {
  return events.some(({ type }) => type === "effect/dispatched");
}

function codeOf({ data }: SessionEvent): unknown {
  return (data as { readonly error?: { readonly code?: unknown } }).error?.code;
}

/** The process that is stopped. */
class Zombie {
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #waiting: PromiseWithResolvers<ZombieReport>[] = [];
  readonly #reading: Promise<void>;

  constructor() {
    const program = fromFileUrl(new URL("./zombie_child.ts", import.meta.url));
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", "--no-check", program],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#input = this.#child.stdin.getWriter();
    this.#reading = this.#read();
  }

  async #read(): Promise<void> {
    const lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const line of lines) this.#waiting.shift()?.resolve(JSON.parse(line));
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("the zombie is gone"));
  }

  run(trial: ZombieTrial): Promise<ZombieReport> {
    const report = Promise.withResolvers<ZombieReport>();
    report.promise.catch(() => {});
    this.#waiting.push(report);
    this.#input.write(new TextEncoder().encode(JSON.stringify(trial) + "\n"));
    return report.promise;
  }

  /** Looks until the system says that it is stopped: nobody is told. */
  async whenStopped(): Promise<void> {
    for (;;) {
      const stat = await Deno.readTextFile(`/proc/${this.#child.pid}/stat`);
      if (stat.slice(stat.lastIndexOf(")") + 2)[0] === "T") return;
      if (this.#waiting.length === 0) throw new Error("the turn is over, and it did not stop");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  wake(): void {
    Deno.kill(this.#child.pid, "SIGCONT");
  }

  async end(): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It is gone.
    }
    await this.#child.status;
    await this.#reading;
    await this.#input.close().catch(() => {});
  }
}

/** Cuts a text into its lines. */
class TextLineStream extends TransformStream<string, string> {
  constructor() {
    let rest = "";
    super({
      transform(chunk, controller) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop()!;
        for (const line of lines) controller.enqueue(line);
      },
    });
  }
}
