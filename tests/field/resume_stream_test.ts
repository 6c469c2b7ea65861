import { assert, assertEquals } from "@std/assert";
import { scripted } from "../../mod.ts";
import type { Frame } from "../server/server_support.ts";
import { EventStream, startServer } from "../server/server_support.ts";

/** One message as a chat page keeps it. */
interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  parts: string[];
}

/**
 * A chat page over the event stream, as short as one can be: a durable message has the seq of its event for an id; what streams
 * is drawn under `live`, and is gone as soon as the message it becomes is there.
 */
class ChatPage {
  readonly messages: UiMessage[] = [];
  live: UiMessage | null = null;
  lastId: number | null = null;

  take({ id, data }: Frame): void {
    const heard = JSON.parse(data);
    if (id !== null) {
      this.lastId = Number(id);
      if (heard.type === "user/message") this.#add(id, "user", heard.data.content);
      if (heard.type === "assistant/message") {
        this.#add(id, "assistant", heard.data.message.content);
        this.live = null;
      }
    } else if (heard.kind === "chunk" && heard.chunk.type === "text-delta") {
      this.live ??= { id: "live", role: "assistant", parts: [""] };
      this.live.parts[0] += heard.chunk.text;
    }
  }

  #add(id: string, role: UiMessage["role"], content: { type: string; text?: string }[]): void {
    this.messages.push({ id, role, parts: content.flatMap(({ text }) => text === undefined ? [] : [text]) });
  }
}

for (
  const [what, keepsMessages] of [["reloaded, with nothing", false], [
    "connected again, with Last-Event-ID",
    true,
  ]] as const
) {
  Deno.test(`field/G04: a page that is ${what}, during turn 2, ends with two answers under stable ids and no part twice`, async () => {
    const halfway = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const model = scripted([[{ text: ["First ", "answer."] }], [{ text: ["Second ", "answer."] }]]);
    // The second answer stops in the middle until the page is back.
    let requests = 0;
    const paused: typeof model = {
      ...model,
      stream(request, options) {
        const isSecond = ++requests === 2;
        const chunks = model.stream(request, options);
        return (async function* () {
          let isPaused = !isSecond;
          for await (const chunk of chunks) {
            yield chunk;
            if (!isPaused && chunk.type === "text-delta") {
              isPaused = true;
              halfway.resolve();
              await goOn.promise;
            }
          }
        })();
      },
    };
    await using server = await startServer({ model: paused });
    await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
    const before = new ChatPage();
    const first = await EventStream.open(server, "a");
    await say(server, "one", "first");
    await readUntil(first, before, ({ type }) => type === "turn/end");
    await say(server, "two", "second");
    await readUntil(first, before, () => before.live !== null);
    await halfway.promise;
    assertEquals(before.live?.parts, ["Second "]);
    const seenBefore = before.messages.filter(({ role }) => role === "assistant");
    await first[Symbol.asyncDispose]();

    const after = keepsMessages ? before : new ChatPage();
    after.live = null; // What streamed was on the screen alone.
    await using second = await EventStream.open(server, "a", keepsMessages ? before.lastId : null);
    goOn.resolve();
    let turnsToEnd = keepsMessages ? 1 : 2;
    await readUntil(second, after, ({ type }) => type === "turn/end" && --turnsToEnd === 0);
    const answers = after.messages.filter(({ role }) => role === "assistant");
    assertEquals(answers.map(({ parts }) => parts), [["First answer."], ["Second answer."]]);
    assertEquals(after.live, null);
    assertEquals(answers[0], seenBefore[0]);
    assertEquals(new Set(after.messages.map(({ id }) => id)).size, after.messages.length);
    assertEquals(after.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant"]);
    // The input sent again by a page that does not know whether it arrived is the same input.
    await say(server, "two", "second");
    const third = new ChatPage();
    await using again = await EventStream.open(server, "a");
    let turns = 2;
    await readUntil(again, third, ({ type }) => type === "turn/end" && --turns === 0);
    assertEquals(third.messages, after.messages);
  });
}

async function say(server: Awaited<ReturnType<typeof startServer>>, key: string, text: string): Promise<void> {
  await server.json("/v1/sessions/a/inputs", { body: { text }, headers: { "idempotency-key": key }, status: 202 });
}

async function readUntil(
  stream: EventStream,
  page: ChatPage,
  isLast: (event: { readonly type?: string }) => boolean,
): Promise<void> {
  for (let frame = await stream.next(); frame !== null; frame = await stream.next()) {
    page.take(frame);
    if (isLast(frame.id === null ? {} : JSON.parse(frame.data))) return;
  }
  assert(false, "the stream ended");
}
