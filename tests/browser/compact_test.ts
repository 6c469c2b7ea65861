import { assert, assertEquals, assertMatch } from "@std/assert";
import { say, Story } from "./support/story_site.ts";

const LONG = "tell me everything that you can do here, in all detail, with examples. ".repeat(12);

Deno.test("the real page over OPFS: /compact, a reload, and the conversation goes on from the summary", async () => {
  await using story = await Story.open();
  const page = await story.newPage();
  for (const n of [1, 2, 3]) {
    await say(page, `${n} ${LONG}`);
    await page.locator(".entry-answer").nth(n - 1).waitFor();
    await page.locator(".composer .stop").waitFor({ state: "detached" });
  }
  await say(page, "/compact");
  const card = page.locator(".compaction-done");
  await card.waitFor();
  const words = await card.innerText();
  assertMatch(words, /\d+ messages of about \d+ tokens became about \d+/);
  const [, before, after] = words.match(/about\s+(\d+)\s+tokens became about\s+(\d+)/)!;
  assert(Number(after) < Number(before), words);
  // Everything that was said is still there to read, and the command is no part of it.
  const said = await page.locator(".entry-person .said").allInnerTexts();
  assertEquals(said.map((text) => text.slice(0, 6)), ["1 tell", "2 tell", "3 tell"]);

  await page.reload();
  await page.locator(".compaction-done").waitFor();
  await page.getByText("What the model sees").click();
  await page.getByText("compacted-summary").first().waitFor();
  await say(page, "hello again");
  await page.locator(".entry-answer").nth(3).waitFor();
});
