/**
 * Ways out of a sandbox, as data. Each is a shell script and what is looked at from outside to see whether it came out.
 *
 * Without a sandbox every one of them works; that is shown first. Variables: WS the workspace, OUT a folder beside it, MARK a name
 * nobody else uses, VICTIM a process of the host that works in OUT, holds OUT/held open and has a secret among its variables;
 * TCP, TCP6, UDP ports and LOCAL, DATAGRAM, ABSTRACT names of sockets that the host listens on.
 *
 * @module
 */
import type { Dimension } from "../../src/sandbox/mod.ts";

/** What shows that an attempt came out. */
export type Sign =
  /** There is something at the path. */
  | { readonly made: string }
  /** There is nothing at the path any more. */
  | { readonly gone: string }
  /** Content, mode, owner or time of a file is another. */
  | { readonly changed: string }
  /** It printed this, which only the outside could tell it, or which only somebody outside could do. */
  | { readonly said: string }
  /** A listener of the host was reached. */
  | { readonly reached: "tcp" | "tcp6" | "udp" | "local" | "workspace" | "datagram" | "abstract" }
  /** The victim has ended, is stopped, or is treated otherwise by the kernel. */
  | { readonly victim: "ended" | "stopped" | "nice" | "files" }
  /** A process named by MARK is alive after the command has ended. */
  | { readonly survived: true }
  /** The host has the piece of shared memory named by KEY. */
  | { readonly shared: true }
  /** The host has a mount at the path. */
  | { readonly mounted: string };

/** One attempt. */
export interface Escape {
  readonly name: string;
  readonly dimension: Dimension;
  readonly script: string;
  readonly sign: Sign;
  /**
   * What becomes of it under Landlock: "held"; "out" = it comes out, so the dimension must be reported as partial; "either" = it
   * depends on the host, and if it comes out the dimension must be reported as partial.
   */
  readonly landlock: "held" | "out" | "either";
  /** What it takes to work at all. */
  readonly needs?: "root" | "luck";
  /** Run with all variables of the server when it is run without a sandbox. */
  readonly inherits?: true;
}

/** Then /tmp is not shared with commands: they get a folder of their own there. */
const isLauncherInTmp = [new URL("../../src/sandbox", import.meta.url).pathname, Deno.execPath()]
  .some((path) => Deno.realPathSync(path).startsWith(`${Deno.realPathSync("/tmp")}/`));

const SOCKETS = "use IO::Socket; use Socket;";
/** Prints LEAKED when a system call returns something. */
const call = (name: string, x86: number, arm: number, args: string) =>
  `perl -e '$n = \`uname -m\` =~ /x86_64/ ? ${x86} : ${arm}; print "LEAKED" if syscall($n, ${args}) >= 0 # ${name}'`;

/** Does something again and again, beside what follows. */
const race = (steps: string) =>
  `(n=0; while [ $n -lt 60 ] && [ ! -e "$OUT/new" ]; do ${steps}; n=$((n + 1)); done) 2>/dev/null &`;
/** Writes below a name again and again. */
const writeTo = (name: string) =>
  `n=0; while [ $n -lt 1500 ] && [ ! -e "$OUT/new" ]; do { echo x >"$WS/${name}/new"; } 2>/dev/null; n=$((n + 1)); done; wait`;

/** Waits until what was started in the background says that it is there. */
const UP = 'while [ ! -e "$WS/up" ]; do sleep 0.02; done';

const files: readonly Omit<Escape, "dimension">[] = [
  // Writing
  { name: "a new file", script: 'echo x >"$OUT/new"', sign: { made: "$OUT/new" }, landlock: "held" },
  { name: "append", script: 'echo x >>"$OUT/kept"', sign: { changed: "$OUT/kept" }, landlock: "held" },
  { name: "cut by opening", script: ': >"$OUT/kept"', sign: { changed: "$OUT/kept" }, landlock: "held" },
  {
    name: "cut by path",
    script: `perl -e 'truncate("$ENV{OUT}/kept", 0)'`,
    sign: { changed: "$OUT/kept" },
    landlock: "either",
  },
  {
    name: "overwrite in place",
    script: `perl -e 'open(F, "+<", "$ENV{OUT}/kept") and print F "x"'`,
    sign: { changed: "$OUT/kept" },
    landlock: "held",
  },
  {
    name: "dd without cutting",
    script: 'echo x | dd of="$OUT/kept" conv=notrunc',
    sign: { changed: "$OUT/kept" },
    landlock: "held",
  },
  { name: "remove", script: 'rm -f "$OUT/kept"', sign: { gone: "$OUT/kept" }, landlock: "held" },
  { name: "move away", script: 'mv "$OUT/kept" "$WS/kept"', sign: { gone: "$OUT/kept" }, landlock: "held" },
  { name: "move over", script: 'mv -f "$WS/file" "$OUT/kept"', sign: { changed: "$OUT/kept" }, landlock: "held" },
  {
    name: "rename inside a folder",
    script: 'mv "$OUT/kept" "$OUT/renamed"',
    sign: { made: "$OUT/renamed" },
    landlock: "held",
  },
  { name: "copy", script: 'cp "$WS/file" "$OUT/copied"', sign: { made: "$OUT/copied" }, landlock: "held" },
  { name: "a new folder", script: 'mkdir "$OUT/made"', sign: { made: "$OUT/made" }, landlock: "held" },
  { name: "remove a folder", script: 'rmdir "$OUT/folder"', sign: { gone: "$OUT/folder" }, landlock: "held" },
  { name: "a pipe with a name", script: 'mkfifo "$OUT/pipe"', sign: { made: "$OUT/pipe" }, landlock: "held" },
  {
    name: "a device",
    script: 'mknod "$OUT/device" c 1 3',
    sign: { made: "$OUT/device" },
    landlock: "held",
    needs: "root",
  },
  { name: "change the mode", script: 'chmod 777 "$OUT/kept"', sign: { changed: "$OUT/kept" }, landlock: "out" },
  {
    name: "change the times",
    script: 'touch -t 200001010000 "$OUT/kept"',
    sign: { changed: "$OUT/kept" },
    landlock: "out",
  },
  {
    name: "change the owner",
    script: 'chown 1:1 "$OUT/kept"',
    sign: { changed: "$OUT/kept" },
    landlock: "held",
    needs: "root",
  },
  {
    name: "the host's /tmp",
    script: 'echo x >"/tmp/$MARK"',
    sign: { made: "/tmp/$MARK" },
    landlock: isLauncherInTmp ? "held" : "out",
  },
  {
    name: "the host's /dev/shm",
    script: 'echo x >"/dev/shm/$MARK"',
    sign: { made: "/dev/shm/$MARK" },
    landlock: "held",
  },
  {
    name: "the home folder",
    script: 'echo x >"$REAL_HOME/.$MARK"',
    sign: { made: "$REAL_HOME/.$MARK" },
    landlock: "held",
  },
  {
    name: "settings of the system",
    script: 'echo x >"/etc/$MARK"',
    sign: { made: "/etc/$MARK" },
    landlock: "held",
    needs: "root",
  },
  {
    name: "a node in /dev",
    script: 'mkdir "/dev/$MARK"',
    sign: { made: "/dev/$MARK" },
    landlock: "held",
    needs: "root",
  },
  { name: "from a folder outside", script: 'cd "$OUT" && echo x >new', sign: { made: "$OUT/new" }, landlock: "held" },
  {
    name: "by a path that climbs",
    script: 'cd "$WS" && echo x >../out/new',
    sign: { made: "$OUT/new" },
    landlock: "held",
  },
  { name: "move the workspace itself", script: 'mv "$WS" "$WS.moved"', sign: { gone: "$WS" }, landlock: "held" },

  {
    name: "a pipe that somebody outside reads",
    script: 'exec 3<>"$OUT/pipe_of_host" && echo x >&3 && echo LEAKED',
    sign: { said: "LEAKED" },
    landlock: "held",
  },

  // Links
  {
    name: "a hard link out of the outside",
    script: 'ln "$OUT/kept" "$WS/hard" && echo x >>"$WS/hard"',
    sign: { changed: "$OUT/kept" },
    landlock: "held",
  },
  {
    name: "a hard link into the outside",
    script: 'ln "$WS/file" "$OUT/hard"',
    sign: { made: "$OUT/hard" },
    landlock: "held",
  },
  { name: "a link outside", script: 'ln -s /etc "$OUT/link"', sign: { made: "$OUT/link" }, landlock: "held" },
  {
    name: "through a link to a folder",
    script: 'echo x >"$WS/link_to_folder/new"',
    sign: { made: "$OUT/new" },
    landlock: "held",
  },
  {
    name: "through a link to a file",
    script: 'echo x >>"$WS/link_to_file"',
    sign: { changed: "$OUT/kept" },
    landlock: "held",
  },
  {
    name: "through a link of its own",
    script: 'ln -s "$OUT" "$WS/own" && echo x >"$WS/own/new"',
    sign: { made: "$OUT/new" },
    landlock: "held",
  },
  {
    name: "a link in the place of a file",
    script: 'rm "$WS/file" && ln -s "$OUT/kept" "$WS/file" && echo x >>"$WS/file"',
    sign: { changed: "$OUT/kept" },
    landlock: "held",
  },
  {
    name: "a link that flips while it is written through",
    script: `${race('ln -sfn "$OUT" "$WS/flip"; ln -sfn "$WS/folder" "$WS/flip"')} ${writeTo("flip")}`,
    sign: { made: "$OUT/new" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "a folder that becomes a link while it is written to",
    script: `${
      race('mv "$WS/folder" "$WS/away"; ln -s "$OUT" "$WS/folder"; rm "$WS/folder"; mv "$WS/away" "$WS/folder"')
    } ${writeTo("folder")}`,
    sign: { made: "$OUT/new" },
    landlock: "held",
    needs: "luck",
  },

  // /proc
  {
    name: "through its own root in /proc",
    script: 'echo x >"/proc/self/root$OUT/new"',
    sign: { made: "$OUT/new" },
    landlock: "held",
  },
  {
    name: "through its own folder in /proc",
    script: 'cd "$WS" && echo x >/proc/self/cwd/../out/new',
    sign: { made: "$OUT/new" },
    landlock: "held",
  },
  {
    name: "through the root of another process",
    script: 'echo x >"/proc/$VICTIM/root$OUT/new"',
    sign: { made: "$OUT/new" },
    landlock: "held",
  },
  {
    name: "through the folder of another process",
    script: 'echo x >"/proc/$VICTIM/cwd/new"',
    sign: { made: "$OUT/new" },
    landlock: "held",
  },
  {
    name: "through the open file of another process",
    script: 'echo x >>"/proc/$VICTIM/fd/9"',
    sign: { changed: "$OUT/held" },
    landlock: "held",
  },
  {
    name: "a setting of the kernel",
    script: 'v=$(cat /proc/sys/vm/swappiness) && echo "$v" >/proc/sys/vm/swappiness && echo LEAKED',
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "root",
  },

  {
    name: "a setting of the hardware",
    script: 'v=$(cat /sys/kernel/mm/ksm/run) && echo "$v" >/sys/kernel/mm/ksm/run && echo LEAKED',
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "a word to the kernel",
    script: "echo h >/proc/sysrq-trigger && echo LEAKED",
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },

  // Mounts
  {
    name: "a mount",
    script: 'mount -t tmpfs none "$OUT/folder"',
    sign: { mounted: "$OUT/folder" },
    landlock: "held",
    needs: "root",
  },
  {
    name: "a second view of a folder",
    script: 'mount --bind "$WS" "$OUT/folder"',
    sign: { mounted: "$OUT/folder" },
    landlock: "held",
    needs: "root",
  },
  {
    name: "make the view writable again",
    script: 'mount -o remount,bind,rw "$OUT/mount"; echo x >"$OUT/mount/new"',
    sign: { made: "$OUT/mount/new" },
    landlock: "held",
  },
  {
    name: "a mount in a namespace of its own",
    script: "unshare -Urm mount -t tmpfs none /mnt && echo LEAKED",
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
  { name: "another root", script: "chroot / echo LEAKED", sign: { said: "LEAKED" }, landlock: "held", needs: "root" },

  // What is protected inside
  {
    name: "the settings of the repository",
    script: 'echo x >>"$WS/.git/config"',
    sign: { changed: "$WS/.git/config" },
    landlock: "out",
  },
  {
    name: "a hook",
    script: 'echo x >"$WS/.git/hooks/post-commit"',
    sign: { made: "$WS/.git/hooks/post-commit" },
    landlock: "out",
  },
  {
    name: "another repository in its place",
    script: 'mv "$WS/.git" "$WS/git"',
    sign: { gone: "$WS/.git" },
    landlock: "out",
  },
  { name: "no repository", script: 'rm -rf "$WS/.git"', sign: { gone: "$WS/.git/config" }, landlock: "out" },
  {
    name: "the settings of a repository inside",
    script: 'echo x >>"$WS/sub/.git/config"',
    sign: { changed: "$WS/sub/.git/config" },
    landlock: "out",
  },
  {
    name: "the settings of an editor",
    script: 'echo x >"$WS/.vscode/tasks.json"',
    sign: { made: "$WS/.vscode/tasks.json" },
    landlock: "out",
  },
  {
    name: "the settings of a shell",
    script: 'echo x >>"$WS/.envrc"',
    sign: { changed: "$WS/.envrc" },
    landlock: "out",
  },

  // What is hidden
  { name: "read what is hidden", script: 'cat "$OUT/hidden/token"', sign: { said: "HIDDEN" }, landlock: "out" },
  { name: "read a hidden file", script: 'cat "$OUT/hidden_file"', sign: { said: "HIDDEN" }, landlock: "out" },
  {
    name: "read what is hidden through a link",
    script: 'ln -s "$OUT/hidden" "$WS/h" && cat "$WS/h/token"',
    sign: { said: "HIDDEN" },
    landlock: "out",
  },
  {
    name: "read what is hidden through /proc",
    script: 'cat "/proc/self/root$OUT/hidden/token"',
    sign: { said: "HIDDEN" },
    landlock: "out",
  },
  {
    name: "read what is hidden through another process",
    script: 'cat "/proc/$VICTIM/root$OUT/hidden/token"',
    sign: { said: "HIDDEN" },
    landlock: "held",
  },

  // Room
  {
    name: "fill the memory through /dev/shm",
    script: 'dd if=/dev/zero of="/dev/shm/$MARK" bs=1M count=24 && echo FILLED',
    sign: { said: "FILLED" },
    landlock: "held",
  },
  {
    name: "fill /tmp",
    script: 'dd if=/dev/zero of="$TMPDIR/$MARK" bs=1M count=24 && echo FILLED',
    sign: { said: "FILLED" },
    landlock: "out",
  },
];

const network: readonly Omit<Escape, "dimension">[] = [
  {
    name: "TCP",
    script: `perl -e '${SOCKETS} IO::Socket::INET->new("127.0.0.1:$ENV{TCP}")->send("$ENV{MARK}")'`,
    sign: { reached: "tcp" },
    landlock: "held",
  },
  {
    name: "TCP from a shell",
    script: `bash -c 'echo $MARK >/dev/tcp/127.0.0.1/$TCP'`,
    sign: { reached: "tcp" },
    landlock: "held",
  },
  {
    name: "TCP over IPv6",
    script:
      `perl -e '${SOCKETS} socket(S, AF_INET6, SOCK_STREAM, 0) and connect(S, pack_sockaddr_in6($ENV{TCP6}, inet_pton(AF_INET6, "::1"))) and syswrite(S, "$ENV{MARK}")'`,
    sign: { reached: "tcp6" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "UDP",
    script:
      `perl -e '${SOCKETS} IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:$ENV{UDP}")->send("$ENV{MARK}")'`,
    sign: { reached: "udp" },
    landlock: "held",
  },
  {
    name: "a local socket outside",
    script: `perl -e '${SOCKETS} IO::Socket::UNIX->new($ENV{LOCAL})->send("$ENV{MARK}")'`,
    sign: { reached: "local" },
    landlock: "held",
  },
  {
    name: "a local socket in the workspace",
    script: `perl -e '${SOCKETS} IO::Socket::UNIX->new("$ENV{WS}/socket")->send("$ENV{MARK}")'`,
    sign: { reached: "workspace" },
    landlock: "held",
  },
  {
    name: "a local datagram",
    script:
      `perl -e '${SOCKETS} socket(S, AF_UNIX, SOCK_DGRAM, 0) and send(S, "$ENV{MARK}", 0, pack_sockaddr_un($ENV{DATAGRAM}))'`,
    sign: { reached: "datagram" },
    landlock: "held",
  },
  {
    name: "a socket without a path",
    script:
      `perl -e '${SOCKETS} socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, pack_sockaddr_un("\\0$ENV{ABSTRACT}")) and syswrite(S, "$ENV{MARK}")'`,
    sign: { reached: "abstract" },
    landlock: "held",
  },
  {
    name: "be listened to",
    script:
      `perl -e '${SOCKETS} $| = 1; $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or exit; print "PORT=", $l->sockport, "\\n"; $SIG{ALRM} = sub { exit }; alarm 3; print "ACCEPTED" if $l->accept'`,
    sign: { said: "ACCEPTED" },
    landlock: "held",
  },
  {
    name: "the host of a virtual machine",
    script: `perl -e '${SOCKETS} print "LEAKED" if socket(S, 40, SOCK_STREAM, 0)'`,
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "the kernel's own cipher sockets",
    script: `perl -e '${SOCKETS} print "LEAKED" if socket(S, 38, 5, 0)'`,
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "whole packets",
    script: `perl -e '${SOCKETS} print "LEAKED" if socket(S, 17, SOCK_RAW, 0)'`,
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "root",
  },
  {
    name: "raw packets",
    script: `perl -e '${SOCKETS} print "LEAKED" if socket(S, AF_INET, SOCK_RAW, 1)'`,
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "root",
  },
  {
    name: "sockets past the filter",
    script: call("io_uring_setup", 425, 425, '4, "\\0" x 512'),
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
];

const processes: readonly Omit<Escape, "dimension">[] = [
  { name: "see others", script: 'cat "/proc/$VICTIM/comm"', sign: { said: "sleep" }, landlock: "out" },
  { name: "ask a process to end", script: "kill -TERM $VICTIM", sign: { victim: "ended" }, landlock: "either" },
  { name: "end a process", script: "kill -KILL $VICTIM", sign: { victim: "ended" }, landlock: "either" },
  {
    name: "end a process from perl",
    script: `perl -e 'kill 9, $ENV{VICTIM}'`,
    sign: { victim: "ended" },
    landlock: "either",
  },
  { name: "end a group of processes", script: "kill -KILL -$VICTIM", sign: { victim: "ended" }, landlock: "either" },
  { name: "stop a process", script: "kill -STOP $VICTIM", sign: { victim: "stopped" }, landlock: "either" },
  { name: "slow a process down", script: "renice -n 7 -p $VICTIM", sign: { victim: "nice" }, landlock: "either" },
  {
    name: "set the limits of a process",
    script: "prlimit --pid $VICTIM --nofile=77:77",
    sign: { victim: "files" },
    landlock: "out",
  },
  {
    name: "trace a process",
    script: call("ptrace", 101, 117, "16, 0 + $ENV{VICTIM}, 0, 0"),
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "read the memory of a process",
    script: `perl -e 'print "LEAKED" if open(F, "<", "/proc/$ENV{VICTIM}/mem")'`,
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "offer a process to the out-of-memory killer",
    script: "echo 700 >/proc/$VICTIM/oom_score_adj && echo LEAKED",
    sign: { said: "LEAKED" },
    landlock: "held",
  },
  {
    name: "shared memory of the system",
    script: `perl -e 'shmget($ENV{KEY}, 1, 01600)'`,
    sign: { shared: true },
    landlock: "out",
  },
  {
    name: "a key in the kernel's ring",
    script: call("add_key", 248, 217, '"user", "holdfast", "payload", 7, -3'),
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "luck",
  },
  {
    name: "leave its group of processes",
    script:
      'for f in /sys/fs/cgroup/pids/cgroup.procs /sys/fs/cgroup/cgroup.procs; do echo $$ >"$f" && echo LEAKED; done',
    sign: { said: "LEAKED" },
    landlock: "held",
    needs: "root",
  },
  {
    name: "a user namespace",
    script: 'unshare -U sh -c "cat /proc/self/uid_map; echo LEAKED"',
    sign: { said: "LEAKED" },
    landlock: "either",
    needs: "luck",
  },
  {
    name: "many processes",
    script:
      'n=0; while [ $n -lt 200 ]; do sleep 20 >/dev/null 2>&1 & n=$((n + 1)); done; echo "STARTED $n"; kill $(jobs -p)',
    sign: { said: "STARTED 200" },
    landlock: "either",
  },
  {
    name: "processes that double",
    // Each waits for the end of the first, so that all are there at once.
    script: `perl -e '$m = $$; pipe(A, B); pipe(C, D);
      for (1 .. 7) { $p = fork; last unless defined $p; close D unless $p }
      syswrite(B, "."); if ($$ != $m) { sysread(C, $x, 1); exit }
      $SIG{ALRM} = sub { print "DOUBLED $n"; exit }; alarm 8;
      while ($n < 128) { $n += sysread(A, $x, 1) } print "DOUBLED $n"'`,
    sign: { said: "DOUBLED 128" },
    landlock: "either",
  },
  {
    name: "much memory",
    script: `perl -e '$x = "x" x (300 * 1024 * 1024); print "ATE"'`,
    sign: { said: "ATE" },
    landlock: "held",
  },
  {
    name: "outlive the command in a session of its own",
    script: `setsid sh -c "echo >$WS/up; exec sleep $NAP" >/dev/null 2>&1 & ${UP}`,
    sign: { survived: true },
    landlock: "held",
  },
  {
    name: "outlive the command as an orphan",
    script:
      `perl -MPOSIX -e '$0 = "perl $ENV{NAP}"; fork and exit; POSIX::setsid(); fork and exit; open(STDOUT, ">/dev/null"); open(STDERR, ">/dev/null"); open(F, ">", "$ENV{WS}/up"); exec "sleep", $ENV{NAP}'; ${UP}`,
    sign: { survived: true },
    landlock: "held",
  },
  {
    name: "outlive the command deaf to its hang-up",
    script: `nohup sh -c "echo >$WS/up; exec sleep $NAP" >/dev/null 2>&1 & ${UP}`,
    sign: { survived: true },
    landlock: "held",
  },
];

const environment: readonly Omit<Escape, "dimension">[] = [
  { name: "a secret of the server", script: "env", sign: { said: "SERVER_SECRET" }, landlock: "held", inherits: true },
  {
    name: "the agent that holds keys",
    script: '[ -n "$SSH_AUTH_SOCK" ] && echo LEAKED',
    sign: { said: "LEAKED" },
    landlock: "held",
    inherits: true,
  },
  { name: "code that a shell loads", script: "bash -c :", sign: { said: "LOADED" }, landlock: "held", inherits: true },
  {
    name: "code that perl loads",
    script: 'perl -e "print $ENV{PERL5OPT}"; echo "$PERL5OPT"',
    sign: { said: "MHoldfast" },
    landlock: "held",
    inherits: true,
  },
  {
    name: "settings in the home folder",
    script: 'cat "$HOME/settings"',
    sign: { said: "HOME_SECRET" },
    landlock: "held",
    inherits: true,
  },
  {
    name: "the variables of another process",
    script: "cat /proc/$VICTIM/environ",
    sign: { said: "VICTIM_SECRET" },
    landlock: "held",
  },
  {
    name: "the variables of every process",
    script: "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep VICTIM",
    sign: { said: "VICTIM_SECRET" },
    landlock: "held",
  },
  {
    name: "the variables of its parents",
    script:
      `p=$$; while [ "$p" -gt 0 ]; do cat /proc/$p/environ; read -r l </proc/$p/stat; set -- \${l##*) }; p=$2; done`,
    sign: { said: "SERVER_SECRET" },
    landlock: "held",
    inherits: true,
  },
];

/** All of them. */
export const ESCAPES: readonly Escape[] = [
  ...files.map((each) => ({ ...each, dimension: "files" as const })),
  ...network.map((each) => ({ ...each, dimension: "network" as const })),
  ...processes.map((each) => ({ ...each, dimension: "processes" as const })),
  ...environment.map((each) => ({ ...each, dimension: "environment" as const })),
];
