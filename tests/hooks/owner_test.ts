import { assertEquals, assertThrows } from "@std/assert";
import { type EmitHook, HookOwner, Hooks, LISTENERS_MAX, type WaterfallHook } from "../../src/hooks/mod.ts";

interface TestHooks {
  told: EmitHook<[]>;
  around: WaterfallHook<[], string>;
}

Deno.test("dispose() takes everything of its owner away, in every registry, and nothing of others (exec/E10)", () => {
  const [one, two] = [new Hooks<TestHooks>(), new Hooks<TestHooks>()];
  const [plugin, other] = [new HookOwner("plugin"), new HookOwner("other")];
  const heard: string[] = [];
  one.on("told", () => void heard.push("plugin, one"), { owner: plugin });
  two.on("told", () => void heard.push("plugin, two"), { owner: plugin, prepend: true });
  one.on("around", () => "plugin", { owner: plugin });
  one.on("told", () => void heard.push("other"), { owner: other });
  one.on("told", () => void heard.push("nobody's"));
  plugin.dispose();
  plugin.dispose();
  one.emit("told", []);
  two.emit("told", []);
  assertEquals(heard, ["other", "nobody's"]);
  assertEquals(one.waterfall("around", [], () => "default"), "default");
  assertEquals([one.count("told"), two.count("told"), one.count("around")], [2, 0, 0]);
});

Deno.test("dispose() leaves the running dispatch its list (exec/E10, exec/E12)", () => {
  const hooks = new Hooks<TestHooks>();
  const plugin = new HookOwner("plugin");
  const heard: string[] = [];
  hooks.on("told", () => plugin.dispose());
  hooks.on("told", () => void heard.push("plugin"), { owner: plugin });
  hooks.emit("told", []);
  assertEquals(heard, ["plugin"]);
  hooks.emit("told", []);
  assertEquals(heard, ["plugin"]);
});

Deno.test("on() refuses, when its owner is disposed", () => {
  const hooks = new Hooks<TestHooks>();
  const plugin = new HookOwner("plugin");
  plugin.dispose();
  assertEquals(plugin.isDisposed, true);
  assertThrows(
    () => hooks.on("told", () => {}, { owner: plugin }),
    TypeError,
    'Cannot register for "plugin": it is disposed',
  );
  assertEquals(hooks.count("told"), 0);
});

Deno.test("an owner keeps nothing of what left before it, and of what was refused", () => {
  const hooks = new Hooks<TestHooks>();
  const plugin = new HookOwner("plugin");
  const remove = hooks.on("told", () => {}, { owner: plugin });
  remove();
  assertEquals(hooks.count("told"), 0);
  for (let count = 0; count < LISTENERS_MAX; count++) hooks.on("told", () => {});
  assertThrows(() => hooks.on("told", () => {}, { owner: plugin }), RangeError);
  plugin.dispose();
  assertEquals(hooks.count("told"), LISTENERS_MAX);
});
