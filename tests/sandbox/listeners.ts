/**
 * Sockets of the host, and what reached them.
 *
 * @module
 */
import type { Sign } from "./escapes.ts";

type Kind = Extract<Sign, { reached: unknown }>["reached"];

/** Listens where Deno cannot: datagrams, and streams without a path. Says each message on a line. */
const PERL = `
use Socket; $| = 1;
socket(D, AF_UNIX, SOCK_DGRAM, 0) and bind(D, pack_sockaddr_un($ARGV[0])) or die "datagram: $!";
socket(A, AF_UNIX, SOCK_STREAM, 0) and bind(A, pack_sockaddr_un("\\0$ARGV[1]")) and listen(A, 16) or die "abstract: $!";
socket(U, AF_INET, SOCK_DGRAM, 0) and bind(U, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die "udp: $!";
print "ready ", (unpack_sockaddr_in(getsockname(U)))[0], "\\n";
for (;;) {
  my $in = ''; vec($in, fileno($_), 1) = 1 for (\\*D, \\*A, \\*U);
  select($in, undef, undef, undef);
  if (vec($in, fileno(U), 1)) { recv(U, my $m, 64, 0); print "udp $m\\n" }
  if (vec($in, fileno(D), 1)) { recv(D, my $m, 64, 0); print "datagram $m\\n" }
  if (vec($in, fileno(A), 1)) { accept(C, A); sysread(C, my $m, 64); close(C); print "abstract $m\\n" }
}`;
const SEND = `
use Socket; my ($kind, $name, $text) = @ARGV;
if ($kind eq 'udp') { socket(S, AF_INET, SOCK_DGRAM, 0) and send(S, $text, 0, pack_sockaddr_in($name, INADDR_LOOPBACK)) or die $! }
elsif ($kind eq 'datagram') { socket(S, AF_UNIX, SOCK_DGRAM, 0) and send(S, $text, 0, pack_sockaddr_un($name)) or die $! }
else { socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, pack_sockaddr_un("\\0$name")) and syswrite(S, $text) or die $! }`;

/** Listeners of all kinds but the one that each workspace has for itself. */
export class Listeners implements AsyncDisposable {
  readonly variables: Record<string, string> = {};
  /** Every message, after its kind. */
  readonly #messages = new Set<string>();
  readonly #waiting = new Map<string, () => void>();
  readonly #closers: (() => void | Promise<void>)[] = [];
  #sentinels = 0;

  static async open(): Promise<Listeners> {
    const listeners = new Listeners();
    await listeners.#open(await Deno.makeTempDir({ dir: "/var/tmp", prefix: "holdfast-listeners-" }));
    return listeners;
  }

  async #open(folder: string): Promise<void> {
    this.#closers.push(() => Deno.remove(folder, { recursive: true }));
    const tcp = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.variables.TCP = String(tcp.addr.port);
    this.#accept("tcp", tcp);
    try {
      const tcp6 = Deno.listen({ hostname: "::1", port: 0 });
      this.variables.TCP6 = String(tcp6.addr.port);
      this.#accept("tcp6", tcp6);
    } catch {
      this.variables.TCP6 = "0";
    }
    this.variables.LOCAL = `${folder}/local`;
    this.listenAt("local", this.variables.LOCAL);
    this.variables.DATAGRAM = `${folder}/datagram`;
    this.variables.ABSTRACT = `holdfast-${crypto.randomUUID()}`;
    await this.#listenInPerl();
  }

  /** Listens on a path, until the listener is closed by who asked. */
  listenAt(kind: "local" | "workspace", path: string): () => Promise<void> {
    const listener = Deno.listen({ transport: "unix", path });
    return this.#accept(kind, listener);
  }

  #accept(kind: Kind, listener: Deno.Listener): () => Promise<void> {
    const open = new Set<Promise<void>>();
    const accepted = (async () => {
      for await (const connection of listener) {
        const read = new Response(connection.readable).text().then(
          (text) => this.#note(kind, text),
          () => this.#note(kind, ""),
        );
        open.add(read);
        read.finally(() => open.delete(read));
      }
    })();
    const close = async () => {
      listener.close();
      await accepted;
      await Promise.all(open);
    };
    if (kind !== "workspace") this.#closers.push(close);
    return close;
  }

  async #listenInPerl(): Promise<void> {
    const child = new Deno.Command("perl", {
      args: ["-e", PERL, this.variables.DATAGRAM!, this.variables.ABSTRACT!],
      // What the tests put among our variables is not for this perl.
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const isReady = Promise.withResolvers<string>();
    const read = (async () => {
      let rest = "";
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + text).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          const at = line.indexOf(" ");
          const text = line.slice(at + 1);
          if (line.startsWith("ready ")) isReady.resolve(text);
          else this.#note(line.slice(0, at) as Kind, text);
        }
      }
    })();
    this.#closers.push(async () => {
      child.kill("SIGKILL");
      await read;
      await child.status;
    });
    this.variables.UDP = await isReady.promise;
  }

  #note(kind: Kind, text: string): void {
    const key = `${kind} ${text.trim()}`;
    this.#messages.add(key);
    this.#waiting.get(key)?.();
    this.#waiting.delete(key);
  }

  /**
   * Whether a message came, if it was sent before this call: one of ours is sent after it, and they are taken in order.
   *
   * @param path of the listener of a workspace
   */
  async hasReceived(kind: Kind, message: string, path?: string): Promise<boolean> {
    const text = `sentinel-${++this.#sentinels}`;
    const isHere = new Promise<void>((resolve) => this.#waiting.set(`${kind} ${text}`, resolve));
    await this.#send(kind, text, path);
    await isHere;
    return this.#messages.has(`${kind} ${message}`);
  }

  async #send(kind: Kind, text: string, path?: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    const { TCP, TCP6, UDP, LOCAL, DATAGRAM, ABSTRACT } = this.variables;
    if (kind === "udp" || kind === "datagram" || kind === "abstract") {
      const name = { udp: UDP!, datagram: DATAGRAM!, abstract: ABSTRACT! }[kind];
      const { success, stderr } = await new Deno.Command("perl", {
        args: ["-e", SEND, kind, name, text],
        stdin: "null",
        clearEnv: true,
      }).output();
      if (!success) throw new Error(new TextDecoder().decode(stderr));
    } else {
      const connection = kind === "tcp"
        ? await Deno.connect({ hostname: "127.0.0.1", port: Number(TCP) })
        : kind === "tcp6"
        ? await Deno.connect({ hostname: "::1", port: Number(TCP6) })
        : await Deno.connect({ transport: "unix", path: kind === "local" ? LOCAL! : path! });
      await connection.write(bytes);
      connection.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The folder last.
    for (const close of this.#closers.toReversed()) await close();
  }
}
