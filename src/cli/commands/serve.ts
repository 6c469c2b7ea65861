/**
 * `holdfast serve`: hosted agents behind HTTP.
 *
 * @module
 */
import * as nodeFs from "node:fs";
import { resolve } from "node:path";
import { createAgent, type Tool } from "../../../mod.ts";
import { serve, type ServeOptions } from "../../server/deno.ts";
import { hostSandbox } from "../../server/sandbox/host.ts";
import { pageFrom } from "../../server/page_files.ts";
import { TOKEN_FILE, tokenOfRoot } from "../../server/token_file.ts";
import { type WorkspaceFs, workspaceTools } from "../../tools/mod.ts";
import { agentTools, makeWorkspace } from "../agent_tools.ts";
import type { Command, CommandContext } from "../command.ts";
import { connectServers, MCP_FLAGS } from "../mcp_servers.ts";
import { modelOf } from "../model_spec.ts";
import { type HostedShell, hostedShell, SANDBOX_FLAGS, tellShell } from "../hosted_shell.ts";
import { surroundingsText } from "../shell.ts";
import { databaseUrl } from "../place.ts";
import { UsageError } from "../usage.ts";

/** Where it listens unless a flag says otherwise. */
const PORT_DEFAULT = 8787;
/** How long running turns may go on after SIGTERM unless a flag says otherwise, in seconds. */
const GRACE_SECONDS_DEFAULT = 10;
/** The longest such time, in seconds. */
const GRACE_SECONDS_MAX = 3600;
const PORT_MAX = 65_535;
/** Where a process finds the files it has open. */
const DESCRIPTORS = "/proc/self/fd";

/**
 * Serves until SIGINT or SIGTERM. Then new work is refused, running turns end or are cancelled when the time is over, everything
 * is made durable, and the exit code is 0; it is 1 when something could not be closed. A second signal ends the waiting.
 * `--json` prints `{origin, token}`, once it listens; `token` is null unless it is new.
 */
export const serveCommand: Command = {
  spec: {
    name: "serve",
    positionals: "",
    help: "host agents behind HTTP, until Ctrl-C",
    flags: {
      port: { value: "N", help: `default ${PORT_DEFAULT}; 0: a free one` },
      host: { value: "ADDRESS", help: "default 127.0.0.1; another than a loopback one needs --cert or --insecure" },
      token: {
        value: "TOKEN",
        help:
          `who may ask; others see it in the list of processes: better in $HOLDFAST_TOKEN (default: in ${TOKEN_FILE})`,
      },
      store: {
        value: "URL",
        help:
          "postgres://… keeps the sessions there, for many servers; with a password better in $HOLDFAST_STORE (default: below the root)",
      },
      "allow-origin": { value: "ORIGIN", many: true, help: "a page of this origin may ask" },
      "allow-host": { value: "NAME", many: true, help: "another name of this server" },
      cert: { value: "FILE", help: "certificate, PEM; with --key it speaks TLS" },
      key: { value: "FILE", help: "its key, PEM" },
      insecure: { help: "listen without TLS on an address that is no loopback one" },
      model: { value: "SPEC", help: "as in run; default demo" },
      approve: { value: "HOW", help: "ask (default) whoever connects, or refuse" },
      "approve-within": { value: "SECONDS", help: "how long a question waits (default: as long as its turn)" },
      workspace: {
        value: "DIR",
        help: "the folder the file tools see; made when it is not there (default ./workspace)",
      },
      "keyed-origin": { value: "URL", many: true, help: "an origin that deduplicates by Idempotency-Key" },
      ...SANDBOX_FLAGS,
      ...MCP_FLAGS,
      page: { value: "DIR", help: "a built page (deno task build), served at /" },
      grace: { value: "SECONDS", help: `how long turns may go on after SIGTERM (default ${GRACE_SECONDS_DEFAULT})` },
    },
    count: [0, 0],
  },
  async run(context) {
    const { args, out, host, root } = context;
    const graceSeconds = args.count("grace") ?? GRACE_SECONDS_DEFAULT;
    if (graceSeconds > GRACE_SECONDS_MAX) {
      throw new UsageError(`Cannot use --grace "${graceSeconds}": at most ${GRACE_SECONDS_MAX}`);
    }
    const shell = hostedShell(context, workspaceDir(context));
    await using servers = await connectServers(context);
    const options = optionsOf(context, shell, servers.tools);
    let token = "", isNew = false;
    const commands = hostSandbox({
      ...{ root, workspace: workspaceDir(context), report: options.report },
      ...shell.limits,
      sandbox: shell.door?.sandbox,
    });
    let serving;
    try {
      serving = await serve({
        ...options,
        // Made when it listens, so that it is shown to whoever it was made for.
        async tokens() {
          ({ token, isNew } = await tokenFor(context));
          return [token];
        },
        extraRoutes: commands.routes,
        extraOperations: commands.operations,
      });
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) throw new UsageError(error.message);
      if ((error as Error).cause instanceof Deno.errors.AddrInUse) {
        throw new UsageError(`Cannot use --port ${options.port}: it is taken; --port 0 takes a free one`);
      }
      throw error;
    }
    const stopped = Promise.withResolvers<void>();
    const atOnce = new AbortController();
    let signals = 0;
    const stopListening = host.onInterrupt(() => ++signals === 1 ? stopped.resolve() : atOnce.abort());
    let told: Promise<void> | null = null;
    try {
      out.json({ origin: serving.origin, token: isNew ? token : null });
      const place = options.database === undefined ? `below ${root}` : `in ${withoutPassword(options.database.url)}`;
      out.line(`Serving on ${serving.origin}, sessions ${place}`);
      if (isNew) out.line(`Token, shown once and kept in ${TOKEN_FILE} of the root: ${token}`);
      if (options.pages !== undefined) out.line(`Page: ${pageAddress(serving.origin, isNew ? token : null)}`);
      if (options.pages !== undefined && await options.pages(new Request(serving.origin)) === null) {
        out.note(`There is no page in "${args.text("page")}" yet: deno task build makes one in web/dist`);
      }
      await out.settled();
      told = tellShell(shell, out);
      await stopped.promise;
      out.note(`Going down: turns may go on for ${graceSeconds} s`);
      const [isClean] = await Promise.all([
        serving.shutdown(graceSeconds * 1000, atOnce.signal),
        commands.close(graceSeconds * 1000, atOnce.signal),
      ]);
      if (!isClean) out.note("Not everything could be closed: the next start says what is true");
      return isClean ? 0 : 1;
    } finally {
      // What tries the sandbox cleans up behind it.
      await told;
      stopListening();
    }
  },
};

/** Where the page is. A fragment never leaves the browser, and the page takes the token out of it at once. */
function pageAddress(origin: string, token: string | null): string {
  if (token !== null) return `${origin}/#token=${encodeURIComponent(token)}`;
  return `${origin}/ (its commands need the token: ${origin}/#token=…)`;
}

function optionsOf(
  context: CommandContext,
  shell: HostedShell,
  served: readonly Tool[],
): Omit<ServeOptions, "tokens"> {
  const { args, out, root } = context;
  const approve = args.text("approve") ?? "ask";
  if (approve !== "ask" && approve !== "refuse") {
    throw new UsageError(`Cannot approve by "${approve}": wanted ask or refuse`);
  }
  const port = args.count("port") ?? PORT_DEFAULT;
  if (port > PORT_MAX) throw new UsageError(`Cannot use --port "${port}": at most ${PORT_MAX}`);
  for (const origin of args.texts("allow-origin")) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new UsageError(`Cannot use --allow-origin "${origin}": wanted one such as https://example.com`);
    }
  }
  const approveWithin = args.count("approve-within");
  const store = args.text("store") ?? storeOfEnvironment(context);
  if (store !== undefined) databaseUrl(store);
  const workspace = workspaceDir(context);
  makeWorkspace(workspace);
  const tools = [...toolsOf(context, workspace, shell), ...served];
  const model = modelOf(args.text("model") ?? "demo", context);
  return {
    root,
    database: store === undefined ? undefined : { url: store },
    hostname: args.text("host"),
    port,
    allowOrigins: args.texts("allow-origin"),
    allowHosts: args.texts("allow-host"),
    tls: tlsOf(context),
    insecure: args.has("insecure"),
    approvalDeadlineMs: approveWithin === undefined ? null : approveWithin * 1000,
    pages: args.has("page") ? pageFrom(resolve(context.cwd, args.text("page")!)) : undefined,
    report: (error) => out.note(`The server failed: ${textOf(error)}`),
    agentWith: (store, approver) =>
      createAgent({
        ...{ store, model, tools },
        approvers: [approver],
        approvalPolicy: approve === "refuse" ? "never" : "ask",
        systemPrompt: surroundingsText(workspace, shell.setting),
      }),
  };
}

/** Not asked for where this process has no leave to: `deno task serve` is for sessions below the root. */
function storeOfEnvironment({ env }: CommandContext): string | undefined {
  const name = "HOLDFAST_STORE";
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted" ? env[name] : undefined;
}

/** Where a database is, for people. */
function withoutPassword(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** The folder that file tools and commands see. */
function workspaceDir({ args, cwd }: CommandContext): string {
  return resolve(cwd, args.text("workspace") ?? "workspace");
}

/** The tools, as far as this process has leave for what they need: without the network there are no requests. */
function toolsOf(context: CommandContext, workspace: string, { tools }: HostedShell): Tool[] {
  const mayUseNetwork = Deno.permissions.querySync({ name: "net" }).state === "granted";
  const others = agentTools(context, workspace).filter(({ name }) => mayUseNetwork && name === "http_request");
  return [...workspaceTools({ root: workspace, closed: [context.root], fs: workspaceFs() }), ...others, ...tools];
}

/**
 * The file system of the workspace. Deno gives `/proc` only to a process that may do everything; without it the fence goes as
 * where there is none: it looks a second time whether a folder was changed into a link.
 */
function workspaceFs(): WorkspaceFs {
  try {
    nodeFs.readdirSync(DESCRIPTORS);
    return nodeFs;
  } catch {
    return { ...nodeFs, existsSync: (path) => path !== DESCRIPTORS && nodeFs.existsSync(path) };
  }
}

async function tokenFor({ args, env, root }: CommandContext): Promise<{ token: string; isNew: boolean }> {
  const given = args.text("token") ?? env["HOLDFAST_TOKEN"];
  if (given === "") throw new UsageError("Cannot use $HOLDFAST_TOKEN: found an empty value");
  return given === undefined ? await tokenOfRoot(root) : { token: given, isNew: false };
}

function tlsOf({ args, cwd }: CommandContext): ServeOptions["tls"] {
  const [cert, key] = [args.text("cert"), args.text("key")];
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw new UsageError("Cannot use TLS: wanted both --cert and --key");
  try {
    return {
      cert: nodeFs.readFileSync(resolve(cwd, cert), "utf8"),
      key: nodeFs.readFileSync(resolve(cwd, key), "utf8"),
    };
  } catch (error) {
    throw new UsageError(`Cannot use TLS: ${(error as Error).message}`);
  }
}

/** Name, code and message. The stack and what is around it stay here. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return "something that is no error was thrown";
  const code = "code" in error ? ` ${String(error.code)}` : "";
  return `${error.name}${code}: ${error.message}`;
}
