/**
 * Bundles the page, serves it on this machine alone, and prints its address. Ends at Ctrl-C.
 *
 * Sessions live in the browser, by origin: on another port there are others. So the port is always the same unless it is taken.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { systemClock } from "../entry/file.ts";
import { listen, type Listening } from "../server/listen.ts";
import { createPageApp } from "../server/page_app.ts";
import { buildWeb } from "./web_build.ts";

/** The port when none is given. */
const DEFAULT_PORT = 4620;
const HOST = "127.0.0.1";

const HELP = `Serves the page in which the agent runs, and prints its address.

  deno task start [--port N] [--no-open]

  --port N    the port, 0 for a free one; default ${DEFAULT_PORT}. Sessions live in the browser, by address: another port has others
  --no-open   open no browser

The agent in this terminal: deno task holdfast run --model demo`;

/** What was asked for. */
interface Options {
  /** `null`: the default, or a free one when that is taken. */
  readonly port: number | null;
  readonly isOpening: boolean;
}

/** Runs until a signal. Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (typeof options === "string") {
    console.error(`${options}\n\n${HELP}`);
    return 2;
  }
  if (options === null) {
    console.log(HELP);
    return 0;
  }
  const files = await builtFiles().catch((error: Error) => error.message);
  if (typeof files === "string") {
    console.error(files);
    return 1;
  }
  const app = createPageApp({ readFile: (name) => Promise.resolve(files.get(name) ?? null) });
  const server = listenAt(options.port, (request) => Promise.resolve(app.fetch(request)));
  if (server === null) {
    console.error(`Cannot listen on port ${options.port}: it is taken. --port 0 takes a free one`);
    return 1;
  }
  const { port } = server;
  if (options.port === null && port !== DEFAULT_PORT) {
    console.error(`Port ${DEFAULT_PORT} is taken. On port ${port} the browser shows other sessions.`);
  }
  const url = `http://${HOST}:${port}/`;
  console.log(`Holdfast: ${url}`);
  console.error("Ctrl-C ends it. The agent in this terminal instead: deno task holdfast run --model demo");
  if (options.isOpening) openBrowser(url);
  await firstSignal();
  await server.shutdown();
  return 0;
}

/** The options, `null` when help is wanted, or what is wrong with them. */
function readOptions(args: readonly string[]): Options | string | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { port: { type: "string" }, "no-open": { type: "boolean" }, help: { type: "boolean", short: "h" } },
    });
    if (values.help) return null;
    const port = values.port === undefined ? null : Number(values.port);
    if (port !== null && !(Number.isInteger(port) && port >= 0 && port <= 65535 && values.port !== "")) {
      return `Cannot read --port "${values.port}": wanted a number from 0 to 65535`;
    }
    return { port, isOpening: values["no-open"] !== true };
  } catch (error) {
    return (error as Error).message.split("\n")[0]!;
  }
}

/** Bundles into a temporary folder and keeps the files in memory: nothing is left behind, however this process ends later. */
async function builtFiles(): Promise<ReadonlyMap<string, Uint8Array<ArrayBuffer>>> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-page-" });
  try {
    const built = await buildWeb(folder);
    return new Map(
      await Promise.all(built.map(async ({ name }) => [name, await Deno.readFile(`${folder}/${name}`)] as const)),
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Listens on this machine alone. `null` when the port that was asked for is taken. */
function listenAt(port: number | null, answer: (request: Request) => Promise<Response>): Listening | null {
  const serve = (port: number) => listen({ hostname: HOST, port, clock: systemClock }, answer);
  try {
    return serve(port ?? DEFAULT_PORT);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return port === null ? serve(0) : null;
  }
}

/** Opens the person's browser where there is a screen; a failure is no matter, the address is printed. */
function openBrowser(url: string): void {
  const { os } = Deno.build;
  const hasScreen = os !== "linux" || Deno.env.has("DISPLAY") || Deno.env.has("WAYLAND_DISPLAY");
  if (!hasScreen) return;
  const command = os === "darwin" ? "open" : os === "windows" ? "explorer" : "xdg-open";
  try {
    new Deno.Command(command, { args: [url], stdin: "null", stdout: "null", stderr: "null" }).spawn().unref();
  } catch {
    // There is no such command.
  }
}

function firstSignal(): Promise<void> {
  return new Promise((came) => {
    const signals = Deno.build.os === "windows" ? ["SIGINT"] as const : ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) Deno.addSignalListener(signal, () => came());
  });
}

if (import.meta.main) Deno.exit(await main(Deno.args));
