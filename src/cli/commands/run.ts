/**
 * `holdfast run`: one agent turn, or a conversation in the terminal.
 *
 * @module
 */
import {
  type Agent,
  type AgentSession,
  type Approver,
  createAgent,
  isEvent,
  type Model,
  type SessionRow,
  type SessionStore,
} from "../../../mod.ts";
import { agentTools, makeWorkspace, workspaceOf } from "../agent_tools.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { converse, type Dialogue, documentOf, oneTurn } from "../dialogue.ts";
import { findSession } from "../find.ts";
import { withHangup } from "../interrupt.ts";
import { connectServers, MCP_FLAGS, wantedServers } from "../mcp_servers.ts";
import { modelOf } from "../model_spec.ts";
import { tellResumed, tellUnresolved } from "../outcomes.ts";
import { terminalApprover } from "../question.ts";
import { checkSameModel } from "../same_model.ts";
import { agentShell, SANDBOX_FLAG, type ShellSetting, shellSetting, surroundingsText } from "../shell.ts";
import type { Terminal } from "../terminal.ts";
import { Transcript } from "../transcript.ts";
import { UsageError } from "../usage.ts";

const NO_APPROVER =
  "Something was refused because it needs approval and there is nobody to ask: run it in a terminal, or build the agent with " +
  "an approver (createAgent({ approvers }))";

/**
 * Runs the agent.
 *
 * Exit code 1 when the turn did not complete, or when something was refused because nobody could be asked. `--json` prints
 * `{id, turn, reason, text, usage, unresolved, resumed}`.
 */
export const run: Command = {
  spec: {
    name: "run",
    positionals: "[prompt… | -]",
    help: "run one agent turn (-: from standard input), or a conversation; resumes and repairs",
    flags: {
      session: { value: "ID", help: "go on with this session" },
      continue: { help: "go on with the session that has the newest event" },
      model: {
        value: "SPEC",
        help: "demo (default), scripted:FILE or openai:MODEL[@BASEURL]; key: $HOLDFAST_API_KEY or $OPENAI_API_KEY",
      },
      approve: { value: "HOW", help: "ask (default) or refuse" },
      workspace: { value: "DIR", help: "the folder the file tools see (default: the session's, else the current one)" },
      "create-workspace": { help: "make that folder when it is not there" },
      "keyed-origin": { value: "URL", many: true, help: "an origin that deduplicates by Idempotency-Key" },
      sandbox: SANDBOX_FLAG,
      ...MCP_FLAGS,
    },
    count: [0, Infinity],
  },
  async run(context) {
    const { args, out, host } = context;
    const approve = args.text("approve") ?? "ask";
    if (approve !== "ask" && approve !== "refuse") {
      throw new UsageError(`Cannot approve by "${approve}": wanted ask or refuse`);
    }
    if (args.has("continue") && args.has("session")) {
      throw new UsageError("Cannot run: wanted one of --session and --continue");
    }
    // What is wrong with a flag is said before anything is read or made.
    if (args.has("workspace")) workspaceOf(context, null);
    agentTools(context, context.cwd);
    wantedServers(context);
    const sandbox = shellSetting(context) ?? "read-only";
    const model = modelOf(args.text("model") ?? "demo", context);
    const prompt = await promptOf(context);
    if (prompt === null && (!host.hasTerminal || out.isJson)) {
      const found = out.isJson ? "it is no one document" : "there is no terminal";
      throw new UsageError(`Cannot run a conversation: ${found}; give a prompt`);
    }

    await using store = await context.openStore();
    const row = await chosenSession(store, context);
    if (row !== null && !args.has("model")) await checkSameModel(store, row, model);
    return await withHangup(
      host,
      (hangup) => runSession(context, store, { row, model, approve, sandbox, prompt, hangup }),
    );
  },
};

interface Plan {
  /** The session to go on with; `null` for a new one. */
  readonly row: SessionRow | null;
  readonly model: Model;
  readonly approve: "ask" | "refuse";
  readonly sandbox: ShellSetting;
  /** `null` for a conversation. */
  readonly prompt: string | null;
  /** Aborts when the terminal is closed. */
  readonly hangup: AbortSignal;
}

async function runSession(context: CommandContext, store: SessionStore, plan: Plan): Promise<ExitCode> {
  const { out, host } = context;
  const { row, model, approve, sandbox, prompt, hangup } = plan;
  const workspace = workspaceOf(context, row);
  const transcript = new Transcript(out);
  if (context.args.has("create-workspace") && makeWorkspace(workspace)) {
    transcript.note(`Made the folder ${workspace}: the agent's files go there`);
  }
  const hasPerson = host.hasTerminal && !out.isJson;
  const shell = sandbox === "off" ? null : agentShell(context, workspace, sandbox);
  let askPerson: Approver = () => undefined;
  await using servers = await connectServers(context);
  const agent = createAgent({
    store,
    model,
    tools: [...agentTools(context, workspace), ...(shell === null ? [] : [shell.tool]), ...servers.tools],
    approvers: hasPerson ? [(request, signal) => askPerson(request, signal)] : [],
    approvalPolicy: approve === "refuse" ? "never" : "ask",
    systemPrompt: surroundingsText(workspace, sandbox),
  });
  // Set when somebody should have been asked and there was nobody.
  let lacksApprover = false;

  const session = await openAgentSession(agent, row, workspace, context);
  let terminal: Terminal | null = null;
  let isFine: boolean;
  let document: unknown;
  try {
    await using _ = session;
    terminal = hasPerson ? host.openTerminal() : null;
    hangup.addEventListener("abort", () => terminal?.close());
    if (terminal !== null) {
      const ask = terminalApprover(terminal, transcript, session.session);
      askPerson = async (request, signal) => {
        // Whoever is asked knows what confines the command, and not what should.
        const told = request.toolName === shell?.tool.name ? await shell.tell() : null;
        if (told !== null) transcript.note(told);
        return await ask(request, signal);
      };
    }
    session.subscribe((live) => {
      if (live.kind === "event" && isEvent(live.event, "approval/decided") && !hasPerson) {
        lacksApprover ||= live.event.data.outcome === "unavailable";
      }
      transcript.watch(live);
    });
    transcript.note(
      `session ${session.id}, model ${model.provider}:${model.id}, workspace ${workspace}, shell ${sandbox}`,
    );
    const note = (text: string) => transcript.note(text);
    if (session.resumed !== null) tellResumed(session.resumed, note);
    tellUnresolved(session.id, session.session.folds.unresolved.effects, context, note);

    const dialogue: Dialogue = { context, session, terminal, transcript, hangup };
    if (hangup.aborted) {
      isFine = false;
    } else if (prompt === null) {
      isFine = await converse(dialogue, terminal!);
    } else {
      const outcome = await oneTurn(dialogue, prompt);
      isFine = outcome.reason.kind === "completed";
      document = documentOf(session, outcome, transcript.text);
    }
    if (lacksApprover) transcript.note(NO_APPROVER);
  } finally {
    terminal?.close();
  }
  // Now everything is durable.
  if (document !== undefined) out.json(document);
  return isFine && !lacksApprover ? 0 : 1;
}

/** The prompt of the command line, else of the pipe, which "-" asks for; `null` when there is none. */
async function promptOf({ args, host }: CommandContext): Promise<string | null> {
  const isAskedFor = args.positionals.length === 1 && args.positionals[0] === "-";
  if (!isAskedFor && args.positionals.length > 0) {
    const prompt = args.positionals.join(" ").trim();
    if (prompt === "") throw new UsageError("Cannot run: the prompt is empty");
    return prompt;
  }
  const piped = (await host.readInput()).trim();
  if (piped === "" && isAskedFor) throw new UsageError("Cannot run: there is no prompt on standard input");
  return piped === "" ? null : piped;
}

async function chosenSession(store: SessionStore, { args, root, out }: CommandContext): Promise<SessionRow | null> {
  const prefix = args.text("session");
  if (prefix !== undefined) return await findSession(store, root, prefix);
  if (!args.has("continue")) return null;
  let newest: SessionRow | null = null;
  using line = out.progress("listing");
  for await (const row of store.list()) {
    if (newest === null || newestTime(row) >= newestTime(newest)) newest = row;
  }
  line[Symbol.dispose]();
  if (newest === null) out.note("There is no session to go on with: this is a new one");
  return newest;
}

/** A damaged session counts too: going on with an older one instead would be a surprise. */
function newestTime({ lastEventTime, header }: SessionRow): number {
  return lastEventTime ?? header?.createdAt ?? 0;
}

async function openAgentSession(
  agent: Agent,
  row: SessionRow | null,
  workspace: string,
  { out }: CommandContext,
): Promise<AgentSession> {
  if (row === null) return await agent.create({ cwd: workspace });
  using _ = out.progress(`opening session ${row.id}`);
  return await agent.resume(row.id);
}
