"""One play: wirecert against one subject of one kind, watched and checked. The result is an `Outcome`."""

import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import List

from . import processes
from .place import KEY, Place

MB = 1 << 20
# The most of what wirecert prints, and of its traces.
MAX_PRINTED = 1 * MB
MAX_TRACES = 256 * MB
# Control characters that a terminal could act on; C1 controls too.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# How long a killed process may take to be gone.
GRACE = 1.0
# Seconds between looks at wirecert.
INTERVAL = 0.04


@dataclass
class Outcome:
    """What came of a play."""

    kind: str
    role: str
    # The exit code; negative for a signal; `None` if it had to be killed, or was not played.
    code: int = None
    verdict: str = ""
    seconds: float = 0
    peak: int = 0
    violated: List[str] = field(default_factory=list)
    # What does not hold. Empty: all does.
    faults: List[str] = field(default_factory=list)
    skipped: str = ""
    stdout: str = ""
    stderr: str = ""


class Reader(threading.Thread):
    """Reads a pipe to its end, and keeps the beginning."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.kept, self.size = pipe, b"", 0
        self.start()

    def run(self):
        while True:
            data = self.pipe.read1(65536)
            if not data:
                return
            self.size += len(data)
            if len(self.kept) < MAX_PRINTED:
                self.kept += data


def play(kind, role, wirecert, keep=False):
    """Plays this kind of subject in this role. Leaves nothing behind, whatever happens."""
    outcome = Outcome(kind.name, role)
    place = Place(kind, role)
    try:
        if kind.disk:
            try:
                processes.mount(place.path("tmp"), kind.disk)
            except OSError as error:
                outcome.skipped = f"no file system of its own: {error}"
                return outcome
        watch(outcome, place, kind, os.path.realpath(wirecert))
        return outcome
    finally:
        processes.end_all(os.getpid())
        if keep:
            print(place.root, flush=True)
        else:
            place.remove()


def watch(outcome, place, kind, wirecert):
    """Runs wirecert, and fills in the outcome."""
    began = time.monotonic()
    child = subprocess.Popen(
        place.command(wirecert),
        cwd=place.root,
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    readers = [Reader(child.stdout), Reader(child.stderr)]
    ended = None
    while ended is None:
        outcome.peak = max(outcome.peak, processes.peak(child.pid, wirecert))
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid:
            ended = status
        elif time.monotonic() - began > kind.bound:
            outcome.faults.append(f"did not end within {kind.bound:.0f} s")
            child.send_signal(signal.SIGKILL)
            os.waitpid(child.pid, 0)
            break
        time.sleep(INTERVAL)
    outcome.seconds = round(time.monotonic() - began, 2)
    if ended is not None:
        outcome.code = os.waitstatus_to_exitcode(ended)
    child.returncode = 0
    left_processes(outcome)
    for reader in readers:
        reader.join(2)
    outcome.stdout, outcome.stderr = (
        printed(outcome, reader, name) for reader, name in zip(readers, ("stdout", "stderr"))
    )
    judge(outcome, place, kind)


def left_processes(outcome):
    """Tells which processes are left a moment after the end."""
    end = time.monotonic() + GRACE
    while True:
        processes.reap()
        living = processes.descendants(os.getpid())
        if not living or time.monotonic() > end:
            break
        time.sleep(0.02)
    if living and outcome.code is not None:
        outcome.faults.append(f"left {len(living)} processes: {sorted(set(living.values()))[:2]}")


def printed(outcome, reader, name):
    """The text that was printed; what is wrong with it is a fault."""
    try:
        text = reader.kept.decode("utf-8")
    except UnicodeDecodeError as error:
        if reader.size < MAX_PRINTED:
            outcome.faults.append(f"{name} is no UTF-8: {error}")
        text = reader.kept.decode("utf-8", "replace")
    if reader.size >= MAX_PRINTED:
        outcome.faults.append(f"{name} has {reader.size / MB:.1f} MB")
    control = CONTROL.search(text)
    if control:
        around = text[max(0, control.start() - 30) : control.end() + 10]
        outcome.faults.append(f"{name} has a control character: {around!r}")
    if KEY in text:
        outcome.faults.append(f"{name} has the key")
    if "panicked" in text:
        outcome.faults.append(f"{name} tells of a panic")
    return text


def judge(outcome, place, kind):
    """Holds the code, the report and what is left against what is expected."""
    if outcome.code is not None and outcome.code not in kind.codes:
        outcome.faults.append(f"exit code {outcome.code}, expected {' or '.join(map(str, sorted(kind.codes)))}")
    if outcome.code == 3 and not outcome.stderr.strip() and "not judged" not in outcome.stdout:
        outcome.faults.append("exit code 3 without a reason")
    if outcome.peak > kind.peak * MB:
        outcome.faults.append(f"took {outcome.peak / MB:.0f} MB")
    if place.size_of_traces() > MAX_TRACES:
        outcome.faults.append(f"traces have {place.size_of_traces() / MB:.0f} MB")
    left = place.left()
    if left and outcome.code is not None:
        outcome.faults.append(f"left files: {left[:3]}")
    report = place.report()
    if report is None:
        if outcome.code in (0, 1, 4):
            outcome.faults.append("no report")
        return
    outcome.verdict = report["verdict"]
    for subject in report["subjects"]:
        names = [
            finding["requirement"]
            for finding in subject["findings"]
            if finding.get("level") == "must" and finding.get("requirement")
        ]
        outcome.violated = sorted({name.split("/", 2)[2] for name in names})
    if kind.accused:
        wrong = [name for name in outcome.violated if not any(fnmatchcase(name, pattern) for pattern in kind.accused)]
        if wrong:
            outcome.faults.append(f"accused of {', '.join(wrong)}")


def as_json(outcome):
    return asdict(outcome)
