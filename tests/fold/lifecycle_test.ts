import { assertEquals } from "@std/assert";
import { foldEvents, lifecycleFold } from "../../src/fold/mod.ts";
import { LogBuilder } from "./log_builder.ts";

function barriersOn(write: (log: LogBuilder) => void): boolean {
  const log = new LogBuilder();
  write(log);
  return foldEvents(lifecycleFold, log.events).barriersOn;
}

Deno.test("a lifecycle has its barriers on by a policy before its first turn, and only by that", () => {
  const cases: [string, (log: LogBuilder) => void, boolean][] = [
    ["no policy", (log) => log.startTurn(), false],
    ["policy first", (log) => (log.policy(), log.startTurn()), true],
    ["policy after other events", (log) => (log.user("x"), log.policy(), log.startTurn()), true],
    ["policy after turn/start", (log) => (log.startTurn(), log.policy()), false],
    ["policy after a whole turn", (log) => (log.startTurn(), log.endTurn(), log.policy()), false],
    ["policy without the tool barrier", (log) => (log.policy(["pre-step", "model"]), log.startTurn()), false],
    ["weaker policy after a stronger one", (log) => (log.policy(), log.policy(["model"]), log.startTurn()), false],
    ["policy of an earlier lifecycle", (log) => (log.policy(), log.endSeed(), log.startTurn()), false],
    ["policy of this lifecycle", (log) => (log.startTurn(), log.endSeed(), log.policy(), log.startTurn()), true],
    ["salvaged", (log) => (log.policy(), log.startTurn(), log.salvaged()), false],
    ["policy behind log/salvaged", (log) => (log.salvaged(), log.policy(), log.startTurn()), false],
    ["next lifecycle of a salvaged log", (log) => (log.salvaged(), log.endSeed(), log.policy(), log.startTurn()), true],
  ];
  for (const [name, write, expected] of cases) assertEquals(barriersOn(write), expected, name);
});

Deno.test("a policy whose marker is not true promises nothing", () => {
  const data = { version: 1, barriers: ["tool"], marker: false };
  const event = { type: "checkpoint/policy", seq: 0, time: 1, data, ignorable: true } as const;
  assertEquals(foldEvents(lifecycleFold, [event]).barriersOn, false);
});

Deno.test("lifecycleFold begins a lifecycle at the seq of its session/end-seed", () => {
  const log = new LogBuilder();
  assertEquals(foldEvents(lifecycleFold, log.events).startSeq, 0);
  log.startTurn();
  log.endSeed();
  assertEquals(foldEvents(lifecycleFold, log.events).startSeq, 1);
});
