import * as std from "@std/assert";
import {
  assert,
  assertEquals,
  AssertionError,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  equal,
} from "@std/assert";

// These tests judge the assertions, so a failing comparison is reported by a plain throw where it matters.
function expectEqual(a: unknown, b: unknown): void {
  if (!equal(a, b) || !equal(b, a)) throw new Error(`equal() is false, expected true: ${String(a)} and ${String(b)}`);
}

function expectUnequal(a: unknown, b: unknown): void {
  if (equal(a, b) || equal(b, a)) throw new Error(`equal() is true, expected false: ${String(a)} and ${String(b)}`);
}

Deno.test("equal() compares primitives, NaN with NaN and 0 with -0", () => {
  expectEqual(NaN, NaN);
  expectEqual(0, -0);
  expectEqual([NaN, { a: NaN }], [NaN, { a: NaN }]);
  expectEqual(1n, 1n);
  expectUnequal(1, 1n);
  expectUnequal(1, "1");
  expectUnequal(null, undefined);
  expectUnequal(null, {});
  expectUnequal(true, 1);
  expectUnequal(Symbol("a"), Symbol("a"));
});

Deno.test("equal() compares objects by keys and values, not by order", () => {
  expectEqual({ a: 1, b: { c: [2] } }, { b: { c: [2] }, a: 1 });
  expectUnequal({ a: 1 }, { a: 2 });
  expectUnequal({ a: 1 }, { a: 1, b: 2 });
  expectUnequal({ a: 1, b: undefined }, { a: 1 });
  expectUnequal({ a: undefined }, { b: undefined });
  expectEqual({ [Symbol.for("a")]: 1 }, { [Symbol.for("a")]: 1 });
  expectUnequal({ [Symbol.for("a")]: 1 }, { [Symbol.for("a")]: 2 });
  expectEqual(Object.assign(Object.create(null), { a: 1 }), { a: 1 });
});

Deno.test("equal() tells classes apart", () => {
  class A {
    x = 1;
  }
  class B {
    x = 1;
  }
  expectEqual(new A(), new A());
  expectUnequal(new A(), new B());
  expectUnequal(new A(), { x: 1 });
  expectUnequal([], {});
  expectUnequal(new Map(), new Set());
  expectUnequal(new Uint8Array([1]), [1]);
  expectUnequal(new Uint8Array([1]), new Int8Array([1]));
});

Deno.test("equal() reads own getters", () => {
  const make = (value: number) => ({
    get a() {
      return value;
    },
  });
  expectEqual(make(1), make(1));
  expectEqual(make(1), { a: 1 });
  expectUnequal(make(1), make(2));
});

Deno.test("equal() tells a hole from undefined, and lengths apart", () => {
  // deno-lint-ignore no-sparse-arrays
  const sparse = [1, , 3];
  // deno-lint-ignore no-sparse-arrays
  expectEqual(sparse, [1, , 3]);
  expectUnequal(sparse, [1, undefined, 3]);
  expectUnequal(new Array(2), new Array(3));
  expectUnequal(Object.assign([1], { extra: true }), [1]);
});

Deno.test("equal() compares dates, patterns and URLs by what they say", () => {
  expectEqual(new Date(5), new Date(5));
  expectUnequal(new Date(5), new Date(6));
  expectEqual(new Date(NaN), new Date(NaN));
  expectEqual(/a/g, /a/g);
  expectUnequal(/a/g, /a/i);
  expectEqual(new URL("a:b"), new URL("a:b"));
  expectUnequal(new URL("a:b"), new URL("a:c"));
});

Deno.test("equal() compares maps and sets without order, keys and members deeply", () => {
  expectEqual(new Map([["a", { x: 1 }], ["b", { x: 2 }]]), new Map([["b", { x: 2 }], ["a", { x: 1 }]]));
  expectUnequal(new Map([["a", 1]]), new Map([["a", 2]]));
  expectUnequal(new Map([["a", 1]]), new Map([["b", 1]]));
  expectEqual(new Map([[{ k: 1 }, "v"]]), new Map([[{ k: 1 }, "v"]]));
  expectEqual(new Map([["a", undefined]]), new Map([["a", undefined]]));
  expectUnequal(new Map([["a", undefined]]), new Map([["b", undefined]]));
  expectEqual(new Set([1, { a: 1 }]), new Set([{ a: 1 }, 1]));
  expectUnequal(new Set([{ a: 1 }, { a: 1 }]), new Set([{ a: 1 }, { a: 2 }]));
  expectUnequal(new Set([1]), new Set([1, 2]));
});

Deno.test("equal() compares bytes and other buffers by content, whatever they are a view of", () => {
  expectEqual(new Uint8Array([1, 2]), new Uint8Array([0, 1, 2, 3]).subarray(1, 3));
  expectUnequal(new Uint8Array([1, 2]), new Uint8Array([1, 3]));
  expectUnequal(new Uint8Array([1, 2]), new Uint8Array([1, 2, 0]));
  expectEqual(new Uint8Array([1]).buffer, new Uint8Array([1]).buffer);
  expectUnequal(new Uint8Array([1]).buffer, new Uint8Array([2]).buffer);
  expectEqual(new DataView(new ArrayBuffer(2)), new DataView(new ArrayBuffer(2)));
  expectEqual(new Float64Array([NaN, 0]), new Float64Array([NaN, -0]));
  expectUnequal(new Float64Array([1]), new Float64Array([2]));
});

Deno.test("equal() compares errors by name, message, cause and own properties", () => {
  expectEqual(new Error("a"), new Error("a"));
  expectUnequal(new Error("a"), new Error("b"));
  expectUnequal(new Error("a"), new TypeError("a"));
  expectUnequal(new Error("a", { cause: 1 }), new Error("a", { cause: 2 }));
  expectUnequal(new Error("a", { cause: 1 }), new Error("a"));
  expectUnequal(Object.assign(new Error("a"), { code: "X" }), Object.assign(new Error("a"), { code: "Y" }));
  expectUnequal(new AggregateError([1], "a"), new AggregateError([2], "a"));
});

Deno.test("equal() ends on cycles and tells different ones apart", () => {
  type Node = { name: string; next?: Node };
  const ring = (...names: string[]) => {
    const nodes = names.map((name): Node => ({ name }));
    nodes.forEach((node, index) => node.next = nodes[(index + 1) % nodes.length]!);
    return nodes[0]!;
  };
  expectEqual(ring("a"), ring("a"));
  expectEqual(ring("a", "b"), ring("a", "b"));
  expectEqual(ring("a"), ring("a", "a"));
  expectUnequal(ring("a", "b"), ring("a", "c"));
  expectUnequal(ring("a"), { name: "a", next: { name: "a" } });
  const shared = { x: 1 };
  expectEqual([shared, shared], [{ x: 1 }, { x: 1 }]);
});

Deno.test("assertEquals() shows only the lines that differ, with a little context", () => {
  const list = Array.from({ length: 50 }, (_, index) => index);
  const error = assertThrows(() => assertEquals({ list, b: 1 }, { list, b: 2 }), AssertionError);
  assertStringIncludes(error.message, "- actual, + expected");
  assertStringIncludes(error.message, "-   b: 1,");
  assertStringIncludes(error.message, "+   b: 2,");
  assert(!error.message.includes("\n         25,"), error.message);
});

Deno.test("assertEquals() shows texts line by line, and -0, holes, cycles and bytes so that they are seen", () => {
  const texts = assertThrows(() => assertEquals("a\nb\nc\n", "a\nB\nc\n"), AssertionError);
  assertStringIncludes(texts.message, '- "b\\n"');
  assertStringIncludes(texts.message, '+ "B\\n"');

  const loop: Record<string, unknown> = { zero: -0, bytes: new Uint8Array([255]), error: new TypeError("t") };
  loop.self = loop;
  // deno-lint-ignore no-sparse-arrays
  loop.sparse = [1, , 2];
  const odd = assertThrows(() => assertEquals<unknown>(loop, 1), AssertionError);
  for (const part of ["zero: -0", "[Circular]", "(hole)", "Uint8Array(1)[ff]", 'TypeError("t")']) {
    assertStringIncludes(odd.message, part);
  }
});

Deno.test("assertEquals() stays readable and quick on large values that differ", () => {
  const large = (seed: number) => Array.from({ length: 5000 }, (_, index) => index * seed);
  const error = assertThrows(() => assertEquals(large(1), large(3), "the list"), AssertionError, "the list: ");
  assert(error.message.length < 40_000, `${error.message.length} characters`);
});

Deno.test("assertNotEquals() and assertStrictEquals() refuse what they should", () => {
  assertNotEquals({ a: 1 }, { a: 2 });
  assertThrows(() => assertNotEquals({ a: 1 }, { a: 1 }), AssertionError);
  assertStrictEquals(NaN, NaN);
  assertThrows(() => assertStrictEquals(0, -0), AssertionError, "-0");
  assertThrows(() => assertStrictEquals({}, {}), AssertionError, "not the same reference");
});

Deno.test("assertThrows() returns the error and refuses another class, another message, and no error", () => {
  const thrown = new RangeError("too far away");
  const boom = () => {
    throw thrown;
  };
  assertStrictEquals(assertThrows(boom), thrown);
  assertStrictEquals(assertThrows(boom, RangeError, "far"), thrown);
  assertStrictEquals(assertThrows(boom, Error), thrown);
  assertThrows(() => assertThrows(boom, TypeError), AssertionError, "RangeError");
  assertThrows(() => assertThrows(boom, RangeError, "near"), AssertionError, "too far away");
  assertThrows(() => assertThrows(() => 7), AssertionError, "returned 7");
  assertThrows(() => assertThrows(() => 7, Error, "", "the step"), AssertionError, "the step");
  assertStrictEquals(
    assertThrows(() => {
      throw "text";
    }),
    "text",
  );
});

Deno.test("assertRejects() resolves with the error and refuses a function that throws before it returns", async () => {
  const error = new TypeError("no");
  assertStrictEquals(await assertRejects(() => Promise.reject(error), TypeError, "n"), error);
  await assertRejects(() => assertRejects(() => Promise.resolve(7)), AssertionError, "resolved with 7");
  await assertRejects(() => assertRejects(() => Promise.reject(error), RangeError), AssertionError, "TypeError");
  await assertRejects(
    () =>
      assertRejects(() => {
        throw error;
      }),
    AssertionError,
    "itself threw",
  );
  await assertRejects(() => assertRejects(() => 7 as unknown as Promise<void>), AssertionError, "returned 7");
});

Deno.test("every other assertion passes and fails where it should", () => {
  const cases: [pass: () => void, fails: () => void, message: string][] = [
    [() => std.assert(1), () => std.assert(0), "got 0"],
    [() => std.assertExists(0), () => std.assertExists(null), "got null"],
    [() => std.assertMatch("ab", /b/), () => std.assertMatch("ab", /c/), "/c/"],
    [() => std.assertStringIncludes("ab", "b"), () => std.assertStringIncludes("ab", "c"), '"c"'],
    [() => std.assertInstanceOf([], Array), () => std.assertInstanceOf([], Map), "an instance of Array"],
    [() => std.assertGreater(2, 1), () => std.assertGreater(1, 1), "1 > 1"],
    [() => std.assertGreaterOrEqual(1, 1), () => std.assertGreaterOrEqual(0, 1), "0 >= 1"],
    [() => std.assertLess(1, 2), () => std.assertLess(2, 2), "2 < 2"],
    [() => std.assertLessOrEqual(2, 2), () => std.assertLessOrEqual(3, 2), "3 <= 2"],
    [() => {}, () => std.fail("why"), "Failed: why"],
  ];
  for (const [pass, fails, message] of cases) {
    pass();
    assertThrows(fails, AssertionError, message);
  }
});
