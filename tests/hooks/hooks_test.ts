import { assertEquals, AssertionError, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import {
  type BailHook,
  type EmitHook,
  Hooks,
  type ListenerProblem,
  LISTENERS_MAX,
  type ParallelHook,
  type SerialHook,
  type WaterfallHook,
} from "../../src/hooks/mod.ts";
import { settle } from "../support/fake_clock.ts";

interface TestHooks {
  told: EmitHook<[what: string]>;
  together: ParallelHook<[]>;
  asked: SerialHook<[], string | number>;
  decided: BailHook<[], string | number>;
  around: WaterfallHook<[request: { readonly notes: string[] }], string>;
  later: WaterfallHook<[], Promise<string>>;
  streamed: WaterfallHook<[], AsyncIterable<number>>;
}

function watched(): { hooks: Hooks<TestHooks>; problems: ListenerProblem[] } {
  const problems: ListenerProblem[] = [];
  return { hooks: new Hooks<TestHooks>({ onProblem: (problem) => problems.push(problem) }), problems };
}

Deno.test("waterfall() enters A, B, C and the default and leaves them in reverse, when each calls next() (exec/E01)", () => {
  const hooks = new Hooks<TestHooks>();
  const order: string[] = [];
  for (const name of ["A", "B", "C"]) {
    hooks.on("around", (request, next) => {
      request.notes.push(name);
      order.push(`in ${name}`);
      const inner = next();
      order.push(`out ${name}`);
      return `${name}(${inner})`;
    });
  }
  const request = { notes: [] as string[] };
  const result = hooks.waterfall("around", [request], () => {
    order.push("default");
    return request.notes.join("");
  });
  assertEquals(result, "A(B(C(ABC)))");
  assertEquals(order, ["in A", "in B", "in C", "default", "out C", "out B", "out A"]);
});

Deno.test("waterfall() is the default alone, when nobody listens", () => {
  assertEquals(new Hooks<TestHooks>().waterfall("around", [{ notes: [] }], () => "default"), "default");
});

Deno.test("on() puts a listener first, when it asks for it (exec/E02)", () => {
  const hooks = new Hooks<TestHooks>();
  hooks.on("around", (_, next) => `A${next()}`);
  hooks.on("around", (_, next) => `B${next()}`, { prepend: true });
  hooks.on("around", (_, next) => `C${next()}`, { prepend: true });
  assertEquals(hooks.waterfall("around", [{ notes: [] }], () => "."), "CBA.");
});

Deno.test("waterfall() runs nothing behind a listener that does not call next() (exec/E03)", () => {
  const hooks = new Hooks<TestHooks>();
  const ran: string[] = [];
  hooks.on("around", (_, next) => next());
  hooks.on("around", () => "vetoed");
  hooks.on("around", (_, next) => (ran.push("behind"), next()));
  const result = hooks.waterfall("around", [{ notes: [] }], () => (ran.push("default"), "default"));
  assertEquals([result, ran], ["vetoed", []]);
});

Deno.test("waterfall() carries an error outwards past whoever does not catch it (exec/E04)", async () => {
  const ran: string[] = [];
  const hooks = new Hooks<TestHooks>();
  hooks.on("around", () => {
    throw new Error("sync");
  });
  hooks.on("around", (_, next) => (ran.push("behind"), next()));
  const around = () => hooks.waterfall("around", [{ notes: [] }], () => (ran.push("default"), "default"));
  assertThrows(around, Error, "sync");
  hooks.on("later", () => Promise.reject(new Error("async")));
  hooks.on("later", (next) => (ran.push("behind"), next()));
  const later = () => hooks.waterfall("later", [], () => (ran.push("default"), Promise.resolve("default")));
  await assertRejects(later, Error, "async");
  assertEquals(ran, []);

  hooks.on("around", (_, next) => {
    try {
      return next();
    } catch (error) {
      return `caught ${(error as Error).message}`;
    }
  }, { prepend: true });
  hooks.on("later", (next) => next().catch((error) => `caught ${error.message}`), { prepend: true });
  assertEquals(around(), "caught sync");
  assertEquals(await later(), "caught async");
});

Deno.test("emit() calls everyone in order and waits for nobody (exec/E05)", async () => {
  const { hooks, problems } = watched();
  const heard: string[] = [];
  const never = new Promise<void>(() => {});
  hooks.on("told", (what) => (heard.push(`A ${what}`), never));
  hooks.on("told", async () => {
    heard.push("B");
    await Promise.resolve();
    heard.push("B later");
  });
  hooks.on("told", () => (heard.push("C"), Promise.reject(new Error("unheard"))));
  assertStrictEquals(hooks.emit("told", ["x"]), undefined);
  assertEquals(heard, ["A x", "B", "C"]);
  await settle();
  assertEquals(heard.at(-1), "B later");
  assertEquals(problems.map(({ name, error }) => [name, (error as Error).message]), [["told", "unheard"]]);
});

Deno.test("emit() ends with the first error, when a listener throws", () => {
  const hooks = new Hooks<TestHooks>();
  const heard: string[] = [];
  hooks.on("told", () => void heard.push("A"));
  hooks.on("told", () => {
    throw new Error("stop");
  });
  hooks.on("told", () => void heard.push("C"));
  assertThrows(() => hooks.emit("told", ["x"]), Error, "stop");
  assertEquals(heard, ["A"]);
});

Deno.test("serial() waits for one after the other and ends with the first answer", async () => {
  for (const nothing of [null, undefined, false] as const) {
    const hooks = new Hooks<TestHooks>();
    const order: string[] = [];
    hooks.on("asked", async () => {
      order.push("A");
      await Promise.resolve();
      order.push("A done");
      return nothing;
    });
    hooks.on("asked", () => (order.push("B"), nothing));
    assertEquals(await hooks.serial("asked", []), undefined);
    assertEquals(order, ["A", "A done", "B"]);
  }
  for (const answer of [0, "", "yes"]) {
    const hooks = new Hooks<TestHooks>();
    let behind = 0;
    hooks.on("asked", () => Promise.resolve(answer));
    hooks.on("asked", () => void behind++);
    assertEquals(await hooks.serial("asked", []), answer);
    assertEquals(behind, 0);
  }
});

Deno.test("serial() rejects at the first failing listener", async () => {
  const hooks = new Hooks<TestHooks>();
  let behind = 0;
  hooks.on("asked", () => {
    throw new Error("sync");
  });
  hooks.on("asked", () => void behind++);
  await assertRejects(() => hooks.serial("asked", []), Error, "sync");
  assertEquals(behind, 0);
});

Deno.test("bail() has serial()'s rule and waits for nothing (exec/E07)", () => {
  const hooks = new Hooks<TestHooks>();
  const order: string[] = [];
  for (const nothing of [null, undefined, false] as const) hooks.on("decided", () => (order.push("nothing"), nothing));
  assertStrictEquals(hooks.bail("decided", []), undefined);
  const remove = hooks.on("decided", () => 0);
  hooks.on("decided", () => (order.push("behind"), "late"));
  assertStrictEquals(hooks.bail("decided", []), 0);
  assertEquals(order, Array(6).fill("nothing"));
  remove();
  hooks.on("decided", () => "", { prepend: true });
  assertStrictEquals(hooks.bail("decided", []), "");
  hooks.on("decided", () => {
    throw new Error("sync");
  }, { prepend: true });
  assertThrows(() => hooks.bail("decided", []), Error, "sync");
});

Deno.test("parallel() throws both reasons at once, after everyone has settled (exec/E08)", async () => {
  const hooks = new Hooks<TestHooks>();
  const slow = Promise.withResolvers<void>();
  const settled: string[] = [];
  hooks.on("together", () => {
    throw new Error("first");
  });
  hooks.on("together", () => Promise.reject(new Error("second")));
  hooks.on("together", async () => {
    await slow.promise;
    settled.push("third");
  });
  const dispatch = hooks.parallel("together", []).then(() => null, (error) => error);
  let isOver = false;
  dispatch.then(() => isOver = true);
  await settle();
  assertEquals(isOver, false);
  slow.resolve();
  const error = await dispatch;
  if (!(error instanceof AggregateError)) throw new AssertionError(`found ${error}`);
  assertEquals(error.errors.map((reason) => reason.message), ["first", "second"]);
  assertEquals(error.message, 'Cannot finish "together": 2 of 3 listeners failed');
  assertEquals(settled, ["third"]);
});

Deno.test("notify() runs every listener and throws nothing, when some throw, reject or lie (exec/E09)", async () => {
  const { hooks, problems } = watched();
  const heard: string[] = [];
  const hostile = {
    get then(): never {
      throw new Error("a then that throws");
    },
  };
  hooks.on("told", () => {
    throw new Error("throws");
  });
  hooks.on("told", () => Promise.reject(new Error("rejects")));
  hooks.on("told", () => hostile);
  hooks.on("told", (what) => void heard.push(what));
  hooks.notify("told", ["x"]);
  assertEquals(heard, ["x"]);
  await settle();
  assertEquals(problems.map(({ error }) => (error as Error).message), ["throws", "rejects", "a then that throws"]);
});

Deno.test("notify() throws nothing, when the one who is told of problems throws too", async () => {
  const hooks = new Hooks<TestHooks>({
    onProblem: () => {
      throw new Error("me too");
    },
  });
  hooks.on("told", () => {
    throw new Error("throws");
  });
  hooks.on("told", () => Promise.reject(new Error("rejects")));
  hooks.notify("told", ["x"]);
  await settle();
});

Deno.test("a dispatch keeps the list it found, when listeners come and go meanwhile (exec/E12)", () => {
  const hooks = new Hooks<TestHooks>();
  const heard: string[] = [];
  hooks.on("told", () => {
    heard.push("A");
    removeB();
    hooks.on("told", () => void heard.push("C"));
  });
  const removeB = hooks.on("told", () => void heard.push("B"));
  hooks.emit("told", ["x"]);
  assertEquals(heard.splice(0), ["A", "B"]);
  hooks.emit("told", ["x"]);
  assertEquals(heard, ["A", "C"]);
});

Deno.test("waterfall() keeps its list until the chain is entered to the end, also when that is later (exec/E12)", async () => {
  const hooks = new Hooks<TestHooks>();
  hooks.on("later", async (next) => {
    await settle();
    return `A${await next()}`;
  });
  const removeB = hooks.on("later", async (next) => `B${await next()}`);
  const running = hooks.waterfall("later", [], () => Promise.resolve("."));
  removeB();
  hooks.on("later", async (next) => `C${await next()}`);
  assertEquals(await running, "AB.");
  assertEquals(await hooks.waterfall("later", [], () => Promise.resolve(".")), "AC.");
});

Deno.test("next() runs the whole rest of the chain each time it is called (exec/E13)", async () => {
  const hooks = new Hooks<TestHooks>();
  const ran: string[] = [];
  hooks.on("later", async (next) => {
    ran.push("retry");
    await next().catch(() => {});
    return await next();
  });
  for (const name of ["L1", "L2"]) hooks.on("later", (next) => (ran.push(name), next()));
  let tries = 0;
  const result = await hooks.waterfall("later", [], () => {
    ran.push("default");
    return ++tries === 1 ? Promise.reject(new Error("once")) : Promise.resolve("second");
  });
  assertEquals(ran, ["retry", "L1", "L2", "default", "L1", "L2", "default"]);
  assertEquals(result, "second");
});

Deno.test("next() does not mix up chains, when two of them are entered at once or twice at two depths (exec/E13)", async () => {
  const hooks = new Hooks<TestHooks>();
  hooks.on("later", async (next) => (await Promise.all([next(), next()])).join("|"));
  hooks.on("later", async (next) => (await Promise.all([next(), next()])).join("+"));
  hooks.on("later", async (next) => `(${await next()})`);
  let entered = 0;
  const result = await hooks.waterfall("later", [], () => Promise.resolve(String(entered++)));
  assertEquals(result, "(0)+(1)|(2)+(3)");
});

Deno.test("waterfall() returns what the chain returns without waiting, when that is an async iterable", async () => {
  const hooks = new Hooks<TestHooks>();
  const order: string[] = [];
  hooks.on("streamed", async function* (next) {
    order.push("first pull");
    for await (const value of next()) yield value * 10;
  });
  const stream = hooks.waterfall("streamed", [], async function* () {
    order.push("default");
    yield* [1, 2];
  });
  assertEquals(order, []);
  assertEquals(await Array.fromAsync(stream), [10, 20]);
  assertEquals(order, ["first pull", "default"]);
});

Deno.test("a listener bound to a subject hears only that subject, and one bound to nothing hears all", () => {
  const hooks = new Hooks<TestHooks>();
  const [ann, bob] = [{ name: "ann" }, { name: "bob" }];
  const heard: string[] = [];
  hooks.on("told", (what) => void heard.push(`ann: ${what}`), { subject: ann });
  hooks.on("told", (what) => void heard.push(`all: ${what}`));
  hooks.on("told", (what) => void heard.push(`bob: ${what}`), { subject: bob });
  hooks.notify("told", ["1"], { subject: ann });
  hooks.emit("told", ["2"], { subject: bob });
  hooks.emit("told", ["3"], { subject: { name: "ann" } });
  hooks.emit("told", ["4"]);
  assertEquals(heard, ["ann: 1", "all: 1", "all: 2", "bob: 2", "all: 3", "all: 4"]);

  hooks.on("around", (_, next) => `ann(${next()})`, { subject: ann });
  assertEquals(hooks.waterfall("around", [{ notes: [] }], () => ".", { subject: ann }), "ann(.)");
  assertEquals(hooks.waterfall("around", [{ notes: [] }], () => ".", { subject: bob }), ".");
});

Deno.test("on() refuses one listener too many, per hook, and takes it again when one has left", () => {
  const hooks = new Hooks<TestHooks>();
  const listener = () => {};
  const removals = Array.from({ length: LISTENERS_MAX }, () => hooks.on("told", listener));
  assertThrows(() => hooks.on("told", listener), RangeError, `Cannot listen to "told": it has ${LISTENERS_MAX}`);
  hooks.on("together", listener);
  removals[7]!();
  removals[7]!();
  assertEquals(hooks.count("told"), LISTENERS_MAX - 1);
  hooks.on("told", listener);
});

Deno.test("on() registers once more, when the listener is registered already", () => {
  const hooks = new Hooks<TestHooks>();
  let calls = 0;
  const listener = () => calls++;
  const remove = hooks.on("told", listener);
  hooks.on("told", listener);
  hooks.emit("told", ["x"]);
  assertEquals(calls, 2);
  remove();
  remove();
  hooks.emit("told", ["x"]);
  assertEquals(calls, 3);
});

// Each line below compiles only because the mistake is expected.
function _isTyped(hooks: Hooks<TestHooks>): void {
  // @ts-expect-error: no such hook
  hooks.on("nothing", () => {});
  // @ts-expect-error: another mode
  hooks.waterfall("told", ["x"], () => {});
  // @ts-expect-error: other arguments
  hooks.emit("told", [1]);
  // @ts-expect-error: a waterfall listener returns what the chain returns
  hooks.on("around", () => {});
  // @ts-expect-error: emit listeners get no next
  hooks.on("told", (_what, next: () => void) => next());
}
