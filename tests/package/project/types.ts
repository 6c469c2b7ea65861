// What a stranger's editor sees. Every line with an expected error shows that a type is not `any`.
import { createAgent, defineTool, type Session, type SessionStore } from "@holdfast/holdfast";
import { openFileStore } from "@holdfast/holdfast/file";
import { connectMcp } from "@holdfast/holdfast/mcp";
import { openMemoryStore } from "@holdfast/holdfast/memory";
import { instrumentAgent } from "@holdfast/holdfast/otel";

const store: SessionStore = openFileStore({ root: "somewhere" });
// @ts-expect-error: a root is a path
openFileStore({ root: 1 });
// @ts-expect-error: there is no such medium
openMemoryStore({ simulate: "tape" });
// @ts-expect-error: there is no such effect
defineTool({ name: "a", description: "b", parameters: {}, effect: "certain", execute: () => "" });
// @ts-expect-error: an agent needs a model
createAgent({ store });

// @ts-expect-error: a server is somewhere
connectMcp({ name: "bank" });
// @ts-expect-error: there is nothing to listen to
instrumentAgent({});

export async function last(session: Session): Promise<number> {
  // @ts-expect-error: an event has a type
  session.append({ data: {} });
  // @ts-expect-error: a flush resolves to a number
  const seq: string = await session.flush();
  return seq.length;
}
