/**
 * The pretend bank's own book: the truth beside which every class can be read.
 *
 * @module
 */
import type { BankEntry, OpenUnknown, SettleVerdict } from "../protocol.ts";
import { clockTime, isoTime } from "./marks.tsx";

/** The tool that pays at the pretend bank. */
export const BANK_TOOL = "pay";

/** Whether a verdict says the opposite of what the bank's book says. Where the bank is not known, nothing does. */
export function contradicts(
  bank: readonly BankEntry[] | null,
  { toolName, effectKey }: Pick<OpenUnknown, "toolName" | "effectKey">,
  verdict: SettleVerdict,
): boolean {
  if (bank === null || toolName !== BANK_TOOL || effectKey === null || verdict === "retry") return false;
  const isPaid = bank.some((entry) => entry.effectKey === effectKey);
  return isPaid !== (verdict === "happened");
}

/** What the bank says about one key, in a sentence. */
export function bankVerdict(bank: readonly BankEntry[], effectKey: string): string {
  const entries = bank.filter((entry) => entry.effectKey === effectKey);
  if (entries.length === 0) return "The pretend bank knows nothing under this key.";
  return `The pretend bank holds ${
    entries.map(({ amount, to }) => `${amount} to ${to}`).join(" and ")
  } under this key.`;
}

/** Draws the book. */
export function Bank({ entries }: { readonly entries: readonly BankEntry[] | null }) {
  return (
    <div class="pane-body" tabIndex={0} role="region" aria-label="The pretend bank's book">
      <p class="explain">
        What the pretend bank really did. It lives outside of the log and survives every crash: compare it with what the
        log claims.
      </p>
      {entries === null || entries.length === 0
        ? <p class="empty">{entries === null ? "It cannot be asked now." : "No payment yet."}</p>
        : (
          <table class="book">
            <thead>
              <tr>
                <th scope="col">time</th>
                <th scope="col">to</th>
                <th scope="col" class="amount">amount</th>
                <th scope="col">effect key</th>
              </tr>
            </thead>
            <tbody>
              {entries.map(({ effectKey, to, amount, time }) => (
                <tr key={effectKey}>
                  <td>
                    <time title={isoTime(time)}>{clockTime(time)}</time>
                  </td>
                  <td>{to}</td>
                  <td class="amount">{amount}</td>
                  <td>
                    <code title={effectKey}>{effectKey.slice(0, 12)}…</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
    </div>
  );
}
