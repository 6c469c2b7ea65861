/**
 * The sandbox endpoint: the only door to processes, for agents that live in a browser.
 *
 * A command comes with an effect key that is durable where the agent is. It runs once, whatever happens to the page, the line or
 * the request. When its answer was lost, `settle` says what became of it, and only behind a durable tombstone that it never ran.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import type { Clock, JsonObject, SessionStore } from "../../../mod.ts";
import type { Operation } from "../openapi.ts";
import { Refusal } from "../problem.ts";
import { EFFECT_KEY } from "../schemas.ts";
import { jsonBody, type ServerEnv, tenantOf, textCheck } from "../validate.ts";
import { askedCommand, commandDigest, type CommandRunner } from "./command.ts";
import { type EffectState, Ledger, type LedgerParts } from "./ledger.ts";
import { keysOf } from "./ledger_log.ts";
import { SANDBOX_OPERATIONS } from "./operations.ts";
import { EXEC, NOTHING, SETTLE } from "./schemas.ts";

/** What an endpoint is made of. */
export interface SandboxEndpointParts {
  readonly clock: Clock;
  /** Where the ledger of a token is kept, apart from its sessions, which can be deleted. The endpoint closes it. */
  readonly storeFor: (tokenId: string) => SessionStore;
  /** The tokens that have a ledger here, those that are not valid any more included. Default: those that asked. */
  readonly tokensWithLedger?: () => Promise<readonly string[]>;
  /** Runs the commands of a token. */
  readonly runnerFor: (tokenId: string) => CommandRunner;
  /** Lets ledgers be kept on a medium that promises nothing. Default false. */
  readonly volatile?: boolean;
  /** Bounds to move. */
  readonly limits?: Pick<LedgerParts, "limits" | "keysMax" | "runningMax">;
  /** Told what failed where no request waits for it. */
  readonly report?: (error: unknown) => void;
}

/** The endpoint. */
export interface SandboxEndpoint {
  /** For `extraRoutes` of the server. */
  readonly routes: Hono<ServerEnv>;
  /** For `extraOperations`. */
  readonly operations: readonly Operation[];
  /**
   * Lets commands go on for so long, in milliseconds, ends the rest, writes down how they ended, and closes ledgers and stores.
   * New ones are refused from now on. Default: they are ended at once.
   *
   * @param signal ends the commands at once
   */
  close(deadlineMs?: number, signal?: AbortSignal): Promise<void>;
}

/** What became of a key, as it is answered. */
export type EffectView = EffectState & { readonly effectKey: string };

/** Of one token. */
interface Place {
  readonly store: SessionStore;
  readonly ledger: Ledger;
  readonly runner: CommandRunner;
}

const checkKey = textCheck(EFFECT_KEY, "the effect key");

/**
 * Makes the endpoint.
 *
 * - `GET /sandbox/exec` says what no command is given here
 * - `POST /sandbox/exec` runs a command once. 200 with its outcome, 202 while it runs, 409 `OUTCOME_UNRESOLVED` when nobody knows
 *   how it ended, 410 `EFFECT_GONE` when it never will run or its outcome is not kept any more, 422 for another command under the key
 * - `GET /sandbox/exec/:effectKey` looks
 * - `POST /sandbox/exec/:effectKey/settle` says what became of it, for good
 * - `POST /sandbox/exec/:effectKey/cancel` ends it
 *
 * @example
 * ```ts
 * import type { SessionStore } from "../../../mod.ts";
 * import type { CommandRunner } from "./command.ts";
 * import { sandboxEndpoint } from "./routes.ts";
 *
 * function endpointOver(store: SessionStore, runner: CommandRunner) {
 *   return sandboxEndpoint({ clock: store.runtime.clock, storeFor: () => store, runnerFor: () => runner });
 * }
 * ```
 */
export function sandboxEndpoint(parts: SandboxEndpointParts): SandboxEndpoint {
  const { clock, storeFor, runnerFor, volatile, limits, report } = parts;
  const places = new Map<string, Place>();
  let isClosing = false;

  function placeOf(c: Context<ServerEnv>): Place {
    const { id } = tenantOf(c);
    let place = places.get(id);
    if (place === undefined) {
      if (isClosing) throw new Refusal(503, "DRAINING", "Cannot use the sandbox: the server is going down");
      const store = storeFor(id);
      const isKnownElsewhere = (effectKey: string) => knownElsewhere(id, effectKey);
      const ledger = new Ledger({ store, clock, volatile, report, isKnownElsewhere, ...limits });
      place = { store, ledger, runner: runnerFor(id) };
      places.set(id, place);
    }
    return place;
  }

  /** What ledgers know whose token has not asked here: they do not change until it does, and then they are asked themselves. */
  const keysAtRest = new Map<string, Promise<ReadonlySet<string>>>();

  async function knownElsewhere(ownId: string, effectKey: string): Promise<boolean> {
    const ids = new Set([...await parts.tokensWithLedger?.() ?? [], ...places.keys()]);
    ids.delete(ownId);
    for (const id of ids) {
      const isKnown = places.get(id)?.ledger.knows(effectKey) ?? null;
      if (isKnown ?? (await keysOfClosed(id)).has(effectKey)) return true;
    }
    return false;
  }

  function keysOfClosed(id: string): Promise<ReadonlySet<string>> {
    // A ledger that cannot be read keeps its neighbours from nothing.
    const read = (store: SessionStore) =>
      keysOf(store).catch((error): ReadonlySet<string> => (report?.(error), new Set()));
    const place = places.get(id);
    if (place !== undefined) return read(place.store);
    let keys = keysAtRest.get(id);
    if (keys === undefined) {
      const store = storeFor(id);
      keys = read(store).finally(() => store.close());
      keysAtRest.set(id, keys);
    }
    return keys;
  }

  return {
    routes: routesOver(placeOf) as unknown as Hono<ServerEnv>,
    operations: SANDBOX_OPERATIONS,
    async close(deadlineMs = 0, signal) {
      isClosing = true;
      await Promise.all([...places.values()].map(async ({ ledger, store }) => {
        await ledger.close(deadlineMs, signal).catch((error) => report?.(error));
        await store.close().catch((error) => report?.(error));
      }));
    },
  };
}

/** The type of the routes, for ``hc<SandboxApp>(`${origin}/v1`)``. */
export type SandboxApp = ReturnType<typeof routesOver>;

/** All routes, so that their types are one. */
function routesOver(placeOf: (c: Context<ServerEnv>) => Place) {
  return new Hono<ServerEnv>()
    .post("/sandbox/exec", jsonBody(EXEC), async (c) => {
      const body = c.req.valid("json");
      const { effectKey, waitMs = 0 } = body;
      const { ledger, runner } = placeOf(c);
      const command = askedCommand(body);
      const bodyDigest = await commandDigest(command);
      // A key that was seen is answered whatever this host would say to its command today.
      const known = await ledger.look(effectKey);
      if (known.state === "unseen") {
        if (c.get("isDraining")()) throw new Refusal(503, "DRAINING", "Cannot run: the server is going down");
        await runner.check(command);
      }
      const run = async (signal: AbortSignal) => plainJson(await runner.run(command, signal));
      let state = await ledger.exec(effectKey, bodyDigest, run);
      if (state.state === "running" && waitMs > 0) {
        await ledger.ended(effectKey, waitMs);
        state = await ledger.exec(effectKey, bodyDigest, run);
      }
      const view = executed(effectKey, state);
      return view.state === "running" ? c.json(view, 202) : c.json(view, 200);
    })
    .get("/sandbox/exec", (c) => c.json(placeOf(c).runner.limits))
    .get("/sandbox/exec/:effectKey", async (c) => {
      const effectKey = await checkKey(c.req.param("effectKey"));
      return c.json(viewOf(effectKey, await placeOf(c).ledger.look(effectKey)));
    })
    .post("/sandbox/exec/:effectKey/settle", jsonBody(SETTLE), async (c) => {
      const effectKey = await checkKey(c.req.param("effectKey"));
      const { waitMs = 0 } = c.req.valid("json");
      const { ledger } = placeOf(c);
      let state = await ledger.settle(effectKey);
      if (state.state === "running" && waitMs > 0) {
        await ledger.ended(effectKey, waitMs);
        state = await ledger.settle(effectKey);
      }
      return c.json(viewOf(effectKey, state));
    })
    .post("/sandbox/exec/:effectKey/cancel", jsonBody(NOTHING), async (c) => {
      const effectKey = await checkKey(c.req.param("effectKey"));
      const { ledger } = placeOf(c);
      ledger.cancel(effectKey);
      return c.json(viewOf(effectKey, await ledger.look(effectKey)), 202);
    });
}

function viewOf(effectKey: string, state: EffectState): EffectView {
  return { effectKey, ...state };
}

/** What is answered to a command. @throws {Refusal} when it did not run now, and did not come to an end before */
function executed(effectKey: string, state: EffectState): EffectView {
  switch (state.state) {
    case "finished":
    case "running":
      return viewOf(effectKey, state);
    case "refused":
      throw new Refusal(503, "SANDBOX_UNAVAILABLE", state.refusal.message, { state: state.state });
    case "undecidable":
      throw new Refusal(
        409,
        "OUTCOME_UNRESOLVED",
        `Cannot run effect "${effectKey}" again: it was started, and how it ended is not known`,
        { state: state.state },
      );
    default: {
      const found = state.state === "absent"
        ? "it was settled as absent, and never runs"
        : "it has run, and its outcome is gone";
      throw new Refusal(410, "EFFECT_GONE", `Cannot run effect "${effectKey}": ${found}`, { state: state.state });
    }
  }
}

/** What a runner returned, as lossless JSON. */
function plainJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}
