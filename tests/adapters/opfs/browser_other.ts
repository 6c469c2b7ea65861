/**
 * The other process of the contracts, as a dedicated worker: commands in, answers out.
 *
 * @module
 */

import { openOpfsStorage } from "../../../src/adapters/opfs/mod.ts";
import { openOpfsStore } from "../../../src/entry/opfs.ts";
import { OtherStoreSide, type StoreAnswer, type StoreCommand } from "../../../src/testing/session_store_contract.ts";
import { type OtherAnswer, type OtherCommand, OtherSide } from "../../../src/testing/storage_contract.ts";

/** What it is told. */
export interface OtherCommandMessage {
  readonly id: number;
  readonly root: string;
  readonly command: OtherCommand | StoreCommand;
}

/** What it answers. */
export interface OtherAnswerMessage {
  readonly id: number;
  readonly answer: OtherAnswer & StoreAnswer;
}

interface Sides {
  readonly storage: OtherSide;
  readonly store: OtherStoreSide;
}

let sides: Promise<Sides> | null = null;

globalThis.addEventListener("message", async ({ data }: MessageEvent<OtherCommandMessage>) => {
  const { id, root, command } = data;
  sides ??= open(root);
  const { storage, store } = await sides;
  const answer = isOfStore(command) ? await store.run(command) : await storage.run(command);
  const message: OtherAnswerMessage = { id, answer };
  globalThis.postMessage(message);
});

async function open(root: string): Promise<Sides> {
  await new Promise<void>((resolve) => {
    // Held as long as we live, so that others can tell.
    void navigator.locks.request(`alive:${root}`, () => {
      resolve();
      return new Promise(() => {});
    });
  });
  return {
    storage: new OtherSide(await openOpfsStorage({ root })),
    store: new OtherStoreSide(await openOpfsStore({ root })),
  };
}

/** Only the session store knows ids. */
function isOfStore(command: OtherCommand | StoreCommand): command is StoreCommand {
  return "id" in command || command.do === "createAll";
}
