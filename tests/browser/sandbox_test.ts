import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright";
import { isEvent, type SessionEvent } from "../../mod.ts";
import { eventually, logOf, SandboxStory, say } from "./support/sandbox_site.ts";

/** Leaves a line each time it runs, and ends when it is let. */
function command(name: string): string {
  return `echo ran >> ${name}.runs; while [ ! -e ${name}.go ]; do sleep 0.05; done; echo ${name} is done`;
}

/** Says the command and approves it; resolves when it runs on the server. */
async function approve(story: SandboxStory, page: Page, name: string): Promise<void> {
  await say(page, command(name));
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  assertEquals(await story.file(`${name}.runs`), "", "it ran before anybody answered");
  await dialog.getByRole("button", { name: "Approve once" }).click();
  await eventually(`${name} runs`, async () => await story.file(`${name}.runs`) !== "");
}

const fragmentOf = (page: Page) => new URL(page.url()).hash;

const finishedIn = (ledger: readonly SessionEvent[]) => ledger.filter(({ type }) => type === "sandbox/finished").length;

/** Verdicts of the log, its last result, and what the model is told besides. */
async function settled(
  page: Page,
): Promise<{ readonly verdicts: readonly string[]; readonly result: string; readonly notices: string }> {
  const events = await logOf(page);
  const verdicts = events.filter((event) => isEvent(event, "effect/reconciled")).map(({ data }) => data);
  const result = events.findLast((event) => isEvent(event, "tool/result"));
  return {
    verdicts: verdicts.map((data) => `${(data as { verdict?: string }).verdict} by ${(data as { by?: string }).by}`),
    result: JSON.stringify(result?.data),
    notices: JSON.stringify(events.filter((event) => isEvent(event, "agent/inbox/spliced")).slice(1)),
  };
}

Deno.test("a page asks, a server runs: whoever dies, the command ran once and the log says what became of it", async (t) => {
  await using story = await SandboxStory.open();

  await t.step(
    "nobody dies: approval in the page, the command in the server's sandbox, its output in the page",
    async () => {
      const page = await story.newPage();
      await approve(story, page, "plain");
      await story.write("plain.go");
      await page.getByText("That was it.").first().waitFor();
      const { verdicts, result } = await settled(page);
      assertEquals(verdicts, []);
      assertMatch(result, /plain is done/);
      assertMatch(result, /workspace-write/);
      assertEquals(await story.file("plain.runs"), "ran\n");
      await page.close();
    },
  );

  await t.step("the page is killed during the command: reopened, it settles the call from the ledger", async () => {
    const page = await story.newPage();
    await approve(story, page, "page");
    const fragment = fragmentOf(page);
    await story.killPage(page);
    await story.write("page.go");
    await eventually("the outcome is durable", async () => finishedIn(await story.ledger()) === 2);
    const reopened = await story.newPage(fragment);
    await reopened.getByText("Opened after a crash, and repaired").waitFor();
    const { verdicts, result } = await settled(reopened);
    assertEquals(verdicts, ["happened by lookup"]);
    assertMatch(result, /exit code 0\\npage is done/);
    assertEquals(await story.file("page.runs"), "ran\n");
    await reopened.close();
  });

  await t.step("the page is reopened while the command still runs: the lookup waits for its end", async () => {
    const page = await story.newPage();
    await approve(story, page, "early");
    const fragment = fragmentOf(page);
    await story.killPage(page);
    const reopened = await story.newPage(fragment);
    await story.write("early.go");
    await reopened.getByText("Opened after a crash, and repaired").waitFor();
    const { verdicts, result } = await settled(reopened);
    assertEquals(verdicts, ["happened by lookup"]);
    assertMatch(result, /exit code 0\\nearly is done/);
    assertEquals(await story.file("early.runs"), "ran\n");
    await reopened.close();
  });

  await t.step("the page is closed in good order: the command goes on, and the next page tells the model", async () => {
    const page = await story.newPage();
    await approve(story, page, "closed");
    const fragment = fragmentOf(page);
    await page.close();
    await story.write("closed.go");
    await eventually("the outcome is durable", async () => finishedIn(await story.ledger()) === 4);
    const reopened = await story.newPage(fragment);
    await reopened.getByText("this tab writes the log").waitFor();
    const { verdicts, result, notices } = await settled(reopened);
    assertEquals(verdicts, ["happened by lookup"]);
    // Whether the page could still close its turn is up to the browser. Both ways the output is in the log.
    assertMatch(result + notices, /exit code 0\\+nclosed is done/);
    assertEquals(await story.file("closed.runs"), "ran\n");
    await reopened.close();
  });

  await t.step(
    "page and server are killed, the server after the end: the next ones settle it from the ledger",
    async () => {
      const page = await story.newPage();
      await approve(story, page, "both");
      const fragment = fragmentOf(page);
      await story.killPage(page);
      await story.write("both.go");
      await eventually("the outcome is durable", async () => finishedIn(await story.ledger()) === 5);
      await story.killServer();
      await story.startServer();
      const reopened = await story.newPage(fragment);
      await reopened.getByText("Opened after a crash, and repaired").waitFor();
      const { verdicts, result } = await settled(reopened);
      assertEquals(verdicts, ["happened by lookup"]);
      assertMatch(result, /exit code 0\\nboth is done/);
      assertEquals(await story.file("both.runs"), "ran\n");
      await reopened.close();
    },
  );

  await t.step(
    "the server is killed during the command: undecidable, not run again, and a person settles it",
    async () => {
      const page = await story.newPage();
      await approve(story, page, "server");
      await story.killServer();
      await story.startServer();
      await page.getByText("That was it.").first().waitFor();
      assertMatch((await settled(page)).result, /TOOL_OUTCOME_UNKNOWN/);
      const fragment = fragmentOf(page);
      await page.close();

      const reopened = await story.newPage(fragment);
      await reopened.getByRole("button", { name: "It happened" }).waitFor();
      assertEquals((await settled(reopened)).verdicts, ["undecidable by lookup"]);
      await reopened.getByRole("button", { name: "It happened" }).click();
      await reopened.getByRole("button", { name: "It happened" }).waitFor({ state: "detached" });
      assertEquals((await settled(reopened)).verdicts, ["undecidable by lookup", "happened by person"]);
      await story.write("server.go");
      assertEquals(await story.file("server.runs"), "ran\n");
      await reopened.close();
    },
  );
});
