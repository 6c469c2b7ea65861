/**
 * A pretend bank: the world outside, which a crash of the worker does not touch.
 *
 * It deduplicates by effect key, as a payment service does, and can be asked what it really holds.
 *
 * @module
 */
import { defineTool, readArguments, type Tool, TOOL_OUTCOME_UNKNOWN, ToolError } from "../../mod.ts";
import type { BankEntry } from "../protocol.ts";
import { ownPath } from "./own_path.ts";
import type { KeyValues } from "./platform.ts";

/** A bank that can be paid at. */
export interface Bank {
  /** Pays once per key. Returns the payment, the first one when there was one. */
  pay(payment: Omit<BankEntry, "time">, signal: AbortSignal): Promise<BankEntry>;
  /** Every payment, oldest first. */
  entries(): Promise<readonly BankEntry[]>;
}

/** Under which key the pretend bank keeps its book. */
const BOOK_KEY = "holdfast-pretend-bank";
/** How many payments the pretend bank remembers; the newest. */
export const BANK_ENTRIES_MAX = 1_000;

/** A bank in the browser's own storage. */
export function localBank(values: KeyValues, now: () => number): Bank {
  const entries = async () => bookOf(await values.get(BOOK_KEY));
  return {
    entries,
    async pay(payment) {
      await values.update(BOOK_KEY, (old) => {
        const book = bookOf(old);
        const isPaid = book.some(({ effectKey }) => effectKey === payment.effectKey);
        return isPaid ? book : [...book, { ...payment, time: now() }].slice(-BANK_ENTRIES_MAX);
      });
      return (await entries()).find(({ effectKey }) => effectKey === payment.effectKey)!;
    },
  };
}

/** A bank behind a path of the page's own origin: `POST` pays, `GET` gives the book. */
export function remoteBank(path: string, fetch: typeof globalThis.fetch): Bank {
  return {
    async pay(payment, signal) {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(payment);
      const response = await fetch(path, { method: "POST", headers, body, signal }).catch((error) => {
        // Whether it arrived cannot be seen from here.
        throw new ToolError(TOOL_OUTCOME_UNKNOWN, `no answer from the bank: ${error}`);
      });
      if (response.status >= 500) throw new ToolError(TOOL_OUTCOME_UNKNOWN, `the bank answered ${response.status}`);
      if (!response.ok) throw new ToolError("REFUSED", `the bank answered ${response.status}`);
      return await response.json();
    },
    async entries() {
      return bookOf(await (await fetch(path)).json());
    },
  };
}

/** The path of a remote bank in the worker's own address; `null` when there is none, or it leads to another origin. */
export function bankPath(workerUrl: string): string | null {
  return ownPath(workerUrl, "bank");
}

/** The tool that pays there. */
export function payTool(bank: Bank): Tool {
  const read = (args: Parameters<typeof readArguments>[0]) => readArguments(args, { to: "string", amount: "string" });
  return defineTool({
    name: "pay",
    description: "Pays an amount to somebody, at a pretend bank.",
    parameters: {
      type: "object",
      properties: { to: { type: "string" }, amount: { type: "string", description: "Such as 10 or 9.50" } },
      required: ["to", "amount"],
    },
    effect: "keyed",
    permission: (args) => {
      const { to, amount } = read(args);
      return { decision: "ask", reason: `pay ${amount} to ${JSON.stringify(to)}` };
    },
    execute: async (args, { effectKey, signal }) => {
      const { to, amount } = await bank.pay({ effectKey, ...read(args) }, signal);
      return `Paid ${amount} to ${to}.`;
    },
  });
}

function bookOf(stored: unknown): readonly BankEntry[] {
  return Array.isArray(stored) ? stored as readonly BankEntry[] : [];
}
