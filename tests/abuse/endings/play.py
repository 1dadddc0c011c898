"""One moment: a command is started, ended, and what it left is checked. The result is an `Outcome`."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import List

from leaks.site import await_port, free_port
from runner import processes

from . import commands, files

# The ways to end, with the signal of each.
ENDS = {"kill": signal.SIGKILL, "int": signal.SIGINT, "term": signal.SIGTERM, "full": None}
# Seconds that a command may take from a signal to its end, and from a full disk.
ENDS_WITHIN, FULL_WITHIN = 30, 90
# Seconds after the end until no process may be left.
GRACE = 1.5
# Bytes of the file system that gets full.
DISK = 24 << 20


@dataclass
class Outcome:
    """What came of a moment."""

    command: str
    end: str
    # Seconds from the start to the end, `None` if the command was over before.
    moment: float = None
    code: int = None
    # What does not hold.
    faults: List[str] = field(default_factory=list)
    # Processes that were left and had to be killed; files that are no fault after a kill.
    left: List[str] = field(default_factory=list)
    unfinished: int = 0
    temporary: int = 0
    marks: int = 0
    folder: str = ""


class Play:
    """A folder, the command in it, and the peers around it."""

    def __init__(self, command, wirecert, recorded, on_disk):
        self.command, self.wirecert, self.trace = command, wirecert, recorded
        self.root = tempfile.mkdtemp(prefix="wirecert-ends-")
        self.mounted = on_disk and mounted(self.root)
        os.mkdir(self.path("tmp"))
        # The log is on another disk than what gets full.
        self.log_folder = tempfile.mkdtemp(prefix="wirecert-ends-log-")
        self.log = os.path.join(self.log_folder, "log")
        self.port, self.over, self.peers, self.child = free_port(), False, [], None

    def path(self, name):
        """The path of a file of the play."""
        return os.path.join(self.root, name)

    def write(self, name, text):
        """Writes a file that the command is given."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def recorded(self):
        """A trace to replay."""
        return self.trace

    def environment(self, **more):
        """The environment of the command and of the peers."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": self.log_folder,
            "TMPDIR": self.path("tmp"),
            "ENDS_LOG": self.log,
            "ENDS_COMMAND": self.command.name,
            **more,
        }

    def start_peer(self, kind, **env):
        """Starts one of our programs beside the command."""
        peer = subprocess.Popen(
            [commands.PYTHON, "-S", "-E", commands.PEER, kind],
            env=self.environment(**env),
            cwd=self.log_folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.peers.append(peer)
        if "WIRECERT_PORT" in env:
            await_port(self.port)

    def start(self):
        """Starts the command."""
        words = self.command.words(self)
        if self.command.name == "record":
            self.command.around(self)
        with open(os.path.join(self.log_folder, "stdout"), "wb") as out:
            with open(os.path.join(self.log_folder, "stderr"), "wb") as err:
                self.child = subprocess.Popen(
                    [self.wirecert, *words],
                    cwd=self.root,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
        if self.command.name != "record":
            self.command.around(self)

    def await_text(self, stream, mark, seconds=20):
        """Waits until the command has printed this, and gives what it printed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.over:
            with open(os.path.join(self.log_folder, stream), encoding="utf-8", errors="replace") as file:
                text = file.read()
            if mark in text:
                return text
            time.sleep(0.01)
        return None

    def wait(self, seconds):
        """The exit code; `None` if it does not end in time."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def printed(self, name="stderr"):
        """What the command has printed."""
        with open(os.path.join(self.log_folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def fill(self):
        """Fills the disk to its last byte."""
        with open(self.path("fill"), "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    pass

    def close(self, keep):
        """Ends all that this play started, and removes its folders."""
        self.over = True
        processes.end_all(os.getpid())
        if keep:
            return
        if self.mounted:
            processes.unmount(self.root)
        for folder in (self.root, self.log_folder):
            shutil.rmtree(folder, ignore_errors=True)


def mounted(folder):
    """Mounts the small disk; raises `OSError` where that is not possible."""
    processes.mount(folder, DISK)
    return True


def play(command, end, moment, options, recorded, next_run=False):
    """Ends the command in this way, so many seconds after its start."""
    outcome = Outcome(command.name, end)
    run = Play(command, options.wirecert, recorded, end == "full")
    try:
        run.start()
        before = set(processes.descendants(os.getpid()))
        time.sleep(moment)
        if run.child.poll() is None:
            outcome.moment = moment
        ended = time.monotonic()
        end_it(run, end, outcome)
        look_for_processes(run, outcome, before)
        look_at_files(run, outcome, ended - options.before / 1000)
        if end == "full":
            os.remove(run.path("fill"))
        if next_run and not outcome.faults:
            again(run, outcome)
        return outcome
    finally:
        keep = options.keep and outcome.faults
        if keep:
            outcome.folder = f"{run.root} {run.log_folder}"
        run.close(keep)


def interrupt(child):
    """Ctrl-C in a terminal: to all of the group, also to the client of `record`."""
    try:
        os.killpg(child.pid, signal.SIGINT)
    except ProcessLookupError:
        pass


def end_it(run, end, outcome):
    """Ends the command, and checks its exit code."""
    command = run.command
    if end == "full":
        run.fill()
        allowed, within = commands.USUAL | {2}, FULL_WITHIN
        if command.endless:
            time.sleep(0.5)
            interrupt(run.child)
            allowed, within = command.on_full, ENDS_WITHIN
    else:
        if end == "int":
            interrupt(run.child)
        else:
            run.child.send_signal(ENDS[end])
        allowed = {"kill": {-9}, "int": command.on_interrupt, "term": command.on_terminate}[end]
        within = ENDS_WITHIN
        if outcome.moment is None or not command.endless:
            # It may have been over, or been about to be.
            allowed = allowed | commands.USUAL
    outcome.code = run.wait(within)
    if outcome.code is None:
        outcome.faults.append(f"does not end within {within} s")
        run.child.kill()
        run.child.wait()
    elif outcome.code not in allowed:
        # Until it has registered its handlers, the system ends it.
        early = end in ("int", "term") and outcome.code == -ENDS[end] and not files.written(run.root)
        if not early:
            outcome.faults.append(f"exit code {outcome.code}, expected {sorted(allowed)}")
    if "panicked" in run.printed():
        outcome.faults.append("stderr tells of a panic")


def look_for_processes(run, outcome, before):
    """Tells which processes of the command are left; those of this program are not meant."""
    limit = time.monotonic() + GRACE
    ours = {peer.pid for peer in run.peers}
    while True:
        processes.reap()
        living = {
            pid: line for pid, line in processes.descendants(os.getpid()).items() if pid not in ours and not below(pid, ours)
        }
        if not living or time.monotonic() > limit:
            break
        time.sleep(0.02)
    outcome.left = sorted(living.values())
    if living:
        what = sorted({os.path.basename(line.split(" ")[0]) + " " + line.split("/")[-1] for line in living.values()})
        outcome.faults.append(f"processes are left: {', '.join(what)[:120]}")
    for pid in living:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def below(pid, roots):
    """Whether a process descends from one of these, or was started by one: the child of a peer has left its group."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            marker = b"WIRECERT_RUN_DIR=" in file.read()
        with open(f"/proc/{pid}/stat", "rb") as file:
            parent = int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError):
        return False
    return not marker and parent in roots


def look_at_files(run, outcome, before):
    """Checks every file, and whether the traces have what was exchanged some time before the end."""
    faults, outcome.unfinished = files.faults(run.root, run.wirecert, run.environment(TMPDIR=run.log_folder))
    outcome.faults += faults
    if outcome.unfinished and outcome.end in ("int", "term"):
        outcome.faults.append(f"{outcome.unfinished} unfinished files are left")
    outcome.temporary = len([name for name in os.listdir(run.path("tmp")) if "-traces-" not in name])
    if outcome.temporary and outcome.end in ("int", "term", "full") and outcome.code is not None:
        outcome.faults.append(f"temporary files are left: {os.listdir(run.path('tmp'))[:2]}")
    data = run.path("data/amp/ide")
    if outcome.end in ("int", "term") and os.path.isdir(data) and os.listdir(data):
        outcome.faults.append(f"the lockfile is left: {os.listdir(data)}")
    if run.command.traces and outcome.moment is not None:
        missing, outcome.marks = files.missing_marks(run.root, run.log, before)
        if missing:
            outcome.faults.append(f"{len(missing)} of {outcome.marks} exchanges are in no trace: {missing[0][1]}")


def again(run, outcome):
    """Runs the command once more in the same folder: what was left must not be in its way."""
    run.over, run.port = False, free_port()
    run.start()
    if run.command.endless:
        time.sleep(1.5)
        interrupt(run.child)
        allowed = {130}
    else:
        allowed = commands.USUAL
    code = run.wait(120)
    if code is None:
        run.child.kill()
        run.child.wait()
    if code not in allowed:
        outcome.faults.append(f"the next run gives {code}, expected {sorted(allowed)}")
    faults, _ = files.faults(run.root, run.wirecert, run.environment(TMPDIR=run.log_folder))
    outcome.faults += [f"after the next run: {fault}" for fault in faults]
