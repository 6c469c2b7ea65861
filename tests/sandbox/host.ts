/**
 * What this host can do, asked without any code of ours: a provider that is broken must not look like a host that lacks it.
 *
 * @module
 */

async function works(program: string, ...args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args, stdin: "null", stdout: "null", stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

const isLinux = Deno.build.os === "linux";

/** Whether bubblewrap is here and the kernel lets it make its namespaces. */
export const canBubblewrap = isLinux &&
  await works(
    "bwrap",
    "--ro-bind",
    "/",
    "/",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--proc",
    "/proc",
    "true",
  );

/** Whether the kernel has Landlock. */
export const canLandlock = isLinux && await works("perl", "-e", "exit(syscall(444, 0, 0, 1) > 0 ? 0 : 1)");

if (!canBubblewrap) {
  console.log("1 case not run: bubblewrap confines nothing on this host, so every test of it is ignored");
}
if (!canLandlock) console.log("1 case not run: this kernel has no Landlock, so every test of it is ignored");
