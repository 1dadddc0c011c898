"""What a subject does as a process: ends, hangs, forks, ignores signals, floods its output, eats the machine."""

import os
import signal
import sys
import threading
import time

from .kind import CLIENTS, CONFORMS, ROLES, SERVERS, UNREACHED, VIOLATED, INCOMPLETE, kind

PROCESSES = SERVERS + CLIENTS
STUBBORN = "import signal,time;[signal.signal(s,signal.SIG_IGN) for s in (1,2,3,15)];time.sleep(120)"
DAEMON = "import os\nos.fork() and os._exit(0)\nos.setsid()\nos.fork() and os._exit(0)\n" + STUBBORN


def spawn(script, **more):
    """A child that outlives everything if nobody ends it."""
    import subprocess

    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-c", script], **{**quiet, **more})


def forever(work):
    threading.Thread(target=work, daemon=True).start()


@kind("sound", ROLES, "none", "does nothing wrong: what the other kinds differ from", codes={CONFORMS})
def sound():
    pass


# What is violated by a client that sends nothing: the first thing that each scenario asks of it.
NOTHING_SENT = ("ping/client-sent", "meta/client-result", "http/client-endpoint")

# Ends

ENDED = {"codes": {UNREACHED, VIOLATED}, "accused": ("robustness/*alive", *NOTHING_SENT)}


@kind("exit-at-once", PROCESSES, "start", "exits with code 3 before it listens or reads", **ENDED)
def exit_at_once(subject):
    print("there is no display", file=sys.stderr, flush=True)
    os._exit(3)


@kind("exit-0-at-once", PROCESSES, "start", "exits with code 0 before it listens or reads", **ENDED)
def exit_0_at_once(subject):
    os._exit(0)


@kind("killed-at-once", PROCESSES, "start", "dies of SIGKILL before it listens or reads", **ENDED)
def killed_at_once(subject):
    os.kill(os.getpid(), signal.SIGKILL)


@kind("segfault-at-once", PROCESSES, "start", "dies of SIGSEGV before it listens or reads", **ENDED)
def segfault_at_once(subject):
    os.kill(os.getpid(), signal.SIGSEGV)


@kind("last-words", PROCESSES, "start", "exits after bytes that are no UTF-8, NULs and terminal escapes", **ENDED)
def last_words(subject):
    os.write(2, b"\xff\xfe\x00\x1b[2J\x1b]0;title\x07\x9b31m\rgone\xe2\x80\xae\x08\x7f\n" * 3)
    os._exit(3)


@kind(
    "background",
    SERVERS,
    "start",
    "forks, exits, and serves from the child",
    codes={UNREACHED, VIOLATED},
    accused=("robustness/alive",),
)
def background(subject):
    if os.fork():
        os._exit(0)


# Hangs


@kind("hang-at-start", PROCESSES, "start", "hangs before it listens or reads", subject={"ready": {"within": "1s"}})
def hang_at_start(subject):
    time.sleep(120)


@kind(
    "stop-at-start",
    PROCESSES,
    "start",
    "stops itself with SIGSTOP before it listens or reads",
    subject={"ready": {"within": "1s"}},
)
def stop_at_start(subject):
    os.kill(os.getpid(), signal.SIGSTOP)


@kind(
    "hang-before-accept",
    SERVERS,
    "serve",
    "listens, and accepts nothing",
    accused=("envelope/answered", "envelope/without-settings", "http/answered", "connection/token-right"),
)
def hang_before_accept(subject, listener):
    time.sleep(120)


@kind("full-backlog", SERVERS, "serve", "listens with a full backlog, and accepts nothing")
def full_backlog(subject, listener):
    import socket

    listener.listen(0)
    held = []
    for _ in range(4):
        other = socket.socket()
        other.setblocking(False)
        other.connect_ex(("127.0.0.1", subject.port))
        held.append(other)
    time.sleep(120)


@kind("burn", PROCESSES, "start", "burns a processor beside its work", codes={CONFORMS}, timeout="5s")
def burn(subject):
    spawn("while True: pass")


# Signals


@kind("ignores-term", PROCESSES, "start", "ignores SIGTERM, SIGINT and SIGHUP", codes={CONFORMS})
def ignores_term(subject):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


@kind("crash-on-term", SERVERS, "start", "dies of SIGSEGV when it is told to end", codes={CONFORMS, VIOLATED})
def crash_on_term(subject):
    signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGSEGV))


@kind("forks-on-term", SERVERS, "start", "starts ten stubborn daemons when it is told to end", codes={CONFORMS})
def forks_on_term(subject):
    signal.signal(signal.SIGTERM, lambda *_: [spawn(DAEMON) for _ in range(10)] and os._exit(0))


# Forks


@kind(
    "daemons",
    PROCESSES,
    "start",
    "starts three daemons: forked twice, in sessions of their own, stubborn",
    codes={CONFORMS},
)
def daemons(subject):
    for _ in range(3):
        spawn(DAEMON)


@kind(
    "bare-daemon",
    PROCESSES,
    "start",
    "starts a daemon with an empty environment and another working directory",
    codes={CONFORMS},
)
def bare_daemon(subject):
    spawn(DAEMON, env={}, cwd="/")


@kind("daemon-holds-output", PROCESSES, "start", "starts a daemon that holds its stdout and stderr", codes={CONFORMS})
def daemon_holds_output(subject):
    spawn(DAEMON, stdout=None, stderr=None)


@kind(
    "fork-tree", PROCESSES, "start", "starts forty stubborn children and grandchildren", codes={CONFORMS}, timeout="5s"
)
def fork_tree(subject):
    for _ in range(5):
        spawn("import os\nfor _ in range(3): os.fork()\n" + STUBBORN)


@kind(
    "fork-race",
    PROCESSES,
    "start",
    "forks without end while it is being stopped, 2,000 times at most",
    codes={CONFORMS},
    timeout="5s",
    bound=60,
)
def fork_race(subject):
    spawn(
        "import os,signal,time\nsignal.signal(15,signal.SIG_IGN)\n"
        "for n in range(2000):\n"
        "  if os.fork(): time.sleep(0.05); os._exit(0)\n"
        "  if n % 3 == 0: os.setsid()\n"
    )


# Output


@kind("shouts-stdout", SERVERS, "start", "writes to stdout without end", codes={CONFORMS}, timeout="5s")
def shouts_stdout(subject):
    forever(lambda: [os.write(1, b"la " * 5000 + b"\n") for _ in iter(int, 1)])


@kind("shouts-stderr", PROCESSES, "start", "writes to stderr without end", codes={CONFORMS}, timeout="5s")
def shouts_stderr(subject):
    forever(lambda: [os.write(2, b"la " * 5000 + b"\n") for _ in iter(int, 1)])


@kind(
    "endless-line",
    PROCESSES,
    "start",
    "writes a line of 200 MB without an end to stderr",
    codes={CONFORMS},
    timeout="5s",
)
def endless_line(subject):
    forever(lambda: [os.write(2, b"x" * 65536) for _ in range(3200)])


@kind(
    "bad-output",
    SERVERS,
    "start",
    "writes bytes that are no UTF-8, NULs and escapes to stdout and stderr",
    codes={CONFORMS},
)
def bad_output(subject):
    for stream in (1, 2):
        os.write(stream, b"\xff\xfe\x00\x1b[2J\x1b]0;title\x07\x9b31m\rgone\xe2\x80\xae\x08\x7f" * 500 + b"\n")


@kind("closes-streams", SERVERS, "start", "closes stdin, stdout and stderr", codes={CONFORMS})
def closes_streams(subject):
    for stream in (0, 1, 2):
        os.close(stream)


# Resources


@kind("eats-memory", PROCESSES, "start", "takes 300 MB of memory", codes={CONFORMS}, timeout="5s")
def eats_memory(subject):
    subject.eaten = b"x" * (300 << 20)


@kind(
    "out-of-memory",
    PROCESSES,
    "start",
    "takes memory up to its limit of 256 MB, and dies of that",
    codes={UNREACHED, VIOLATED},
)
def out_of_memory(subject):
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
    subject.eaten = [b"x" * (1 << 20) for _ in range(1000)]


@kind(
    "out-of-files",
    PROCESSES,
    "start",
    "opens files up to its limit of 64",
    codes={CONFORMS, VIOLATED, UNREACHED, INCOMPLETE},
)
def out_of_files(subject):
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    subject.open = []
    try:
        while True:
            subject.open.append(open("/dev/null", "rb"))
    except OSError:
        subject.open.pop().close()
        subject.open.pop().close()
