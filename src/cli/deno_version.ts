/**
 * Says so in one line when Deno is too old, before an old Deno fails on something obscure.
 *
 * @module
 */

const WANTED = [2, 9] as const;

/** Ends the process with the line to type instead when this Deno is older than 2.9. */
export function requireDeno(task: string): void {
  const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
  if (major > WANTED[0] || (major === WANTED[0] && minor >= WANTED[1])) return;
  console.error(
    `Cannot run "${task}" on Deno ${Deno.version.deno}: wanted ${WANTED.join(".")} or newer. Type instead:`,
  );
  console.error(`  npx -y deno@2.9.6 task ${task}`);
  Deno.exit(2);
}
