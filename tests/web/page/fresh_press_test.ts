import { assertEquals } from "@std/assert";
import { freshPress, type Press } from "../../../web/page/fresh_press.ts";

/** A press that remembers whether it was swallowed. */
function press(parts: Omit<Press, "preventDefault">) {
  const made = { ...parts, isSwallowed: false, preventDefault: () => void (made.isSwallowed = true) };
  return made;
}

Deno.test("onKeyDown() swallows the repeats of a held Enter or Space, and no first press", () => {
  const { onKeyDown } = freshPress(true, () => {});
  const swallowed = [
    press({ key: "Enter", repeat: true }),
    press({ key: " ", repeat: true }),
    press({ key: "Enter", repeat: false }),
    press({ key: " " }),
    press({ key: "Tab", repeat: true }),
    press({ key: "ArrowDown", repeat: true }),
  ].map((event) => {
    onKeyDown(event);
    return event.isSwallowed;
  });
  assertEquals(swallowed, [true, true, false, false, false, false]);
});

Deno.test("isMeant() takes a key's click at once, a pointer's when the question has stood, the second of a double click never", () => {
  const [early, ready] = [freshPress(false, () => {}), freshPress(true, () => {})];
  const judge = (detail: number) => [early.isMeant(press({ detail })), ready.isMeant(press({ detail }))];
  assertEquals([0, 1, 2, 3].map(judge), [[true, true], [false, true], [false, false], [false, false]]);
});

Deno.test("onPointerDown() makes the wait begin anew only while it lasts", () => {
  let restarts = 0;
  freshPress(false, () => restarts++).onPointerDown();
  freshPress(true, () => restarts++).onPointerDown();
  assertEquals(restarts, 1);
});
