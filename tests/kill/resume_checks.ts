/**
 * What must hold when a session is taken up after a kill, beside the classes of its calls.
 *
 * @module
 */
import { createSession, hasCode, openSession, readSession } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { repositoryDir } from "../support/paths.ts";
import { check } from "./judge.ts";
import type { Plan } from "./plan.ts";
import type { RawRow } from "./raw_log.ts";

/** What a reader says about the dead session, by callId. */
export async function reportedClasses(root: string, { id }: Pick<Plan, "id">): Promise<Map<string, string>> {
  await using store = openFileStore({ root });
  const { log, open } = await readSession({ store, id });
  await log.close();
  return new Map((open?.calls ?? []).map(({ callId, class: given }) => [callId, given]));
}

/** The log after a repair that nobody disturbs, made on a copy. */
export async function repairedCopy(
  root: string,
  copy: string,
  logPath: string,
  { id }: Pick<Plan, "id">,
): Promise<Uint8Array> {
  await copyFolder(root, copy);
  await using store = openFileStore({ root: copy });
  const { session } = await openSession({ store, id });
  await session.close();
  return await Deno.readFile(logPath.replace(root, copy));
}

/** However often a repair was killed, what stands in the log then is what one repair writes. */
export function checkSameRepair(found: readonly RawRow[], wanted: readonly RawRow[]): void {
  const isTimeless = (type: string) => type === "session/end-seed"; // Its time is that of the opening.
  for (const [index, { text, type }] of wanted.entries()) {
    const isSame = isTimeless(type) ? found[index]?.type === type : found[index]?.text === text;
    check(isSame, `an undisturbed repair writes ${text}, found ${found[index]?.text}`);
  }
}

/** `holdfast verify`, once for all logs: nothing is open any more. */
export async function checkVerify(logs: readonly string[]): Promise<void> {
  for (const { file, damage, torn, open, closers, live } of await verdictsOf(logs)) {
    const isFine = damage === null && torn === null && open === null && closers.length === 0 && !live;
    check(isFine, `verify says of ${file}: ${JSON.stringify({ damage, torn, open, closers, live })}`);
  }
}

/** What `holdfast verify` says about each of these logs. */
export async function verdictsOf(logs: readonly string[]): Promise<readonly VerifyRow[]> {
  if (logs.length === 0) return [];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", `${repositoryDir}/deno.json`, `${repositoryDir}/src/cli/main.ts`]
      .concat(["verify", "--json", ...logs]),
    stdin: "null",
  }).output();
  check(code === 0, `holdfast verify ended with ${code}: ${new TextDecoder().decode(stderr)}`);
  const verdicts = JSON.parse(new TextDecoder().decode(stdout)) as VerifyRow[];
  check(verdicts.length === logs.length, `holdfast verify said ${verdicts.length} verdicts for ${logs.length} logs`);
  return verdicts;
}

/** A row of `verify --json`, as far as it is looked at. */
export interface VerifyRow {
  readonly file: string;
  readonly damage: unknown;
  readonly torn: unknown;
  readonly open: { readonly calls: readonly VerifyCall[] } | null;
  readonly closers: readonly unknown[];
  readonly live: boolean;
}

/** An open call, with the open calls that its body made. */
export interface VerifyCall {
  readonly callId: string;
  readonly class: string;
  readonly nested?: readonly VerifyCall[];
}

/** A kill before the log has its name leaves no session, and nothing in the way of one. */
export async function checkNoSession(root: string, { id }: Pick<Plan, "id">): Promise<void> {
  await using store = openFileStore({ root });
  const code = await openSession({ store, id }).then(() => "none", (error) => error);
  check(hasCode(code, "NOT_FOUND"), `a session without a log opens with ${code}`);
  const session = await createSession({ store, id });
  await session.flush();
  await session.close();
}

async function copyFolder(source: string, target: string): Promise<void> {
  await Deno.mkdir(target);
  for await (const { name, isDirectory } of Deno.readDir(source)) {
    if (isDirectory) await copyFolder(`${source}/${name}`, `${target}/${name}`);
    else await Deno.copyFile(`${source}/${name}`, `${target}/${name}`);
  }
}
