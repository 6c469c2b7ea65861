/**
 * The socket under a connection.
 *
 * The driver takes its listeners off a socket that has closed. A socket may still say afterwards that it was reset, and an error
 * that nobody listens to ends the process. So it is made here, and somebody always listens.
 *
 * @module
 */
import { Socket } from "node:net";

/** Where the driver wants to go: one or more hosts, or the path of a local socket. */
export interface SocketTarget {
  readonly host: string | readonly string[];
  readonly port: number | readonly number[];
  readonly path?: string | false;
}

/** How long a connection may take, in milliseconds. */
export const CONNECT_MS_MAX = 10_000;

/**
 * A socket that is connected: to the first host that answers.
 *
 * @param schedule runs something later; returns what prevents it
 * @throws what the system says of the last host
 *
 * @example
 * ```ts
 * import { connectedSocket } from "./socket.ts";
 *
 * const nowhere = { host: ["127.0.0.1"], port: [1] };
 * const error = await connectedSocket(nowhere, () => () => {}).catch((error) => error);
 * if (error.code !== "ECONNREFUSED") throw error;
 * ```
 */
export async function connectedSocket(
  { host, port, path }: SocketTarget,
  schedule: (delayMs: number, wake: () => void) => () => void,
): Promise<Socket> {
  if (typeof path === "string" && path !== "") return await connected((socket) => socket.connect(path), schedule);
  const hosts = [host].flat();
  const ports = [port].flat();
  let failure: unknown;
  for (const [index, name] of hosts.entries()) {
    try {
      const socket = await connected((socket) => socket.connect(ports[index] ?? ports[0]!, name), schedule);
      // The driver looks there for the name that a certificate must have.
      return Object.assign(socket, { host: name, port: ports[index] ?? ports[0] });
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function connected(
  connect: (socket: Socket) => void,
  schedule: (delayMs: number, wake: () => void) => () => void,
): Promise<Socket> {
  const socket = new ListenedSocket();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => reject(Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" }));
  socket.once("connect", resolve);
  socket.once("error", reject);
  socket.once("close", onClose);
  const cancel = schedule(CONNECT_MS_MAX, () => {
    reject(Object.assign(new Error("nobody answered in time"), { code: "ETIMEDOUT" }));
    socket.destroy();
  });
  try {
    connect(socket);
    await promise;
    return socket;
  } finally {
    cancel();
    socket.off("connect", resolve).off("error", reject).off("close", onClose);
  }
}

/** Somebody listens to its errors, whoever takes listeners away. */
class ListenedSocket extends Socket {
  constructor() {
    super();
    this.on("error", ignore);
  }

  override removeAllListeners(event?: string | symbol): this {
    super.removeAllListeners(event);
    if (event === undefined || event === "error") this.on("error", ignore);
    return this;
  }
}

function ignore(): void {}
