/**
 * `--model SPEC`: which model a turn is run with.
 *
 * @module
 */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { demo, type Model, openAiCompatible, parseScript, scripted } from "../../mod.ts";
import { systemClock } from "../entry/system.ts";
import type { CommandContext } from "./command.ts";
import { UsageError } from "./usage.ts";

/** The largest script that is read. */
const SCRIPT_SIZE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Makes the model a specification names: `demo`, `scripted:FILE` or `openai:MODEL[@BASEURL]`.
 *
 * The key of an endpoint comes from `$HOLDFAST_API_KEY` or `$OPENAI_API_KEY`, never from a flag: flags are seen by everybody
 * who lists processes.
 *
 * @throws {UsageError}
 */
export function modelOf(spec: string, { cwd, env }: Pick<CommandContext, "cwd" | "env">): Model {
  if (spec === "demo") return demo();
  const [kind, rest] = [spec.slice(0, spec.indexOf(":")), spec.slice(spec.indexOf(":") + 1)];
  if (kind === "scripted" && rest !== "") return scripted(readScript(rest, resolve(cwd, rest)), { clock: systemClock });
  if (kind === "openai" && rest !== "") return openAi(rest, env);
  throw new UsageError(`Cannot use model "${spec}": wanted demo, scripted:FILE or openai:MODEL[@BASEURL]`);
}

function readScript(name: string, path: string) {
  try {
    const { size } = statSync(path);
    if (size > SCRIPT_SIZE_BYTES_MAX) throw new Error(`it has more than ${SCRIPT_SIZE_BYTES_MAX} bytes`);
    return parseScript(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    throw new UsageError(`Cannot read script "${name}": ${(error as Error).message.replace(/\s+/g, " ")}`);
  }
}

function openAi(rest: string, env: CommandContext["env"]): Model {
  // A model's name may hold an "@"; an address begins with its scheme.
  const at = rest.search(/@https?:\/\//);
  const model = at === -1 ? rest : rest.slice(0, at);
  if (model === "") throw new UsageError('Cannot use model "openai:": wanted openai:MODEL[@BASEURL]');
  // Prompt and key would go to OpenAI.
  const host = /@([^@]*)$/.exec(model)?.[1];
  if (host !== undefined && /^(?:localhost$|[^/]*[:/.])/.test(host)) {
    throw new UsageError(`Cannot tell whether "${host}" is an address: write openai:MODEL@https://…, or @http://…`);
  }
  const baseUrl = at === -1 ? undefined : addressOf(rest.slice(at + 1));
  const apiKey = apiKeyOf(env);
  if (apiKey === undefined && baseUrl === undefined) {
    throw new UsageError(
      `Cannot ask model "${model}" at OpenAI: neither HOLDFAST_API_KEY nor OPENAI_API_KEY is set ` +
        "(for another endpoint, write openai:MODEL@https://…)",
    );
  }
  return openAiCompatible({ model, baseUrl, apiKey, fetch: (input, init) => fetch(input, init), clock: systemClock });
}

function addressOf(text: string): string {
  if (!URL.canParse(text)) throw new UsageError(`Cannot use address "${text}": it is no URL`);
  const { username, password, search, hash } = new URL(text);
  if (username !== "" || password !== "") {
    throw new UsageError("Cannot use an address with a user or a password: the key comes from $HOLDFAST_API_KEY");
  }
  if (search !== "" || hash !== "") throw new UsageError(`Cannot use address "${text}": it holds a ? or a #`);
  return text;
}

/** An empty variable counts as unset. The message never holds the key. */
function apiKeyOf(env: CommandContext["env"]): string | undefined {
  for (const name of ["HOLDFAST_API_KEY", "OPENAI_API_KEY"]) {
    const key = env[name];
    if (key === undefined || key === "") continue;
    if (/^[\x21-\x7e]+$/.test(key)) return key;
    throw new UsageError(`Cannot use $${name}: it holds a space, a line end or another character no key has`);
  }
  return undefined;
}
