"""Which plays there are, and playing several at a time, each in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
from fnmatch import fnmatchcase
from queue import Empty, Queue

import kinds

from . import processes
from .play import MB, as_json, play as play_one

RUN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run")
# What a play may take beyond the bound of its kind, for its own checks.
CHECKS = 60


def select(every, names, roles, shard):
    """The kinds and roles to play, as pairs."""
    cells = [(kind, role) for kind in every for role in kind.roles]
    if names:
        cells = [(kind, role) for kind, role in cells if any(fnmatchcase(kind.name, name) for name in names)]
    if roles:
        cells = [(kind, role) for kind, role in cells if role in roles]
    if shard:
        part, parts = map(int, shard.split("/"))
        cells = cells[part - 1 :: parts]
    return cells


def play_cell(name, role, wirecert, keep):
    """Plays one kind in one role, and prints what came of it as JSON. Runs in a process of its own."""
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcome = play_one(kinds.by_name(name), role, wirecert, keep)
    print(json.dumps(as_json(outcome)))


def play(cells, wirecert, options):
    """Plays all, some at a time; gives the outcomes in the order of the cells, and whether it was interrupted."""
    queue, outcomes, running, interrupted = Queue(), {}, set(), threading.Event()
    for number, cell in enumerate(cells):
        queue.put((number, cell))

    def work():
        while True:
            try:
                number, (kind, role) = queue.get_nowait()
            except Empty:
                return
            outcome = one(kind, role, wirecert, options, running)
            if not interrupted.is_set():
                outcomes[number] = outcome
                show(outcome, options.verbose)

    # Also where it was started in the background, and so ignores it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    threads = [threading.Thread(target=work, daemon=True) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        interrupted.set()
        while not queue.empty():
            queue.get_nowait()
        for child in list(running):
            child.terminate()
        for thread in threads:
            thread.join()
    return [outcomes[number] for number in sorted(outcomes)], interrupted.is_set()


def one(kind, role, wirecert, options, running):
    command = [sys.executable, RUN, wirecert, "--cell", kind.name, role] + (["--keep"] if options.keep else [])
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
    running.add(child)
    try:
        printed, _ = child.communicate(timeout=kind.bound + CHECKS)
        *kept, last = printed.decode().strip().split("\n")
        for line in kept:
            print(f"kept {line}", flush=True)
        return json.loads(last)
    except (ValueError, subprocess.TimeoutExpired) as error:
        child.terminate()
        child.wait()
        return {
            "kind": kind.name,
            "role": role,
            "code": None,
            "seconds": 0,
            "peak": 0,
            "violated": [],
            "verdict": "",
            "skipped": "",
            "stdout": "",
            "stderr": "",
            "faults": [f"the play failed: {error}"],
        }
    finally:
        running.discard(child)


def show(outcome, verbose):
    """Prints a line for a play, and more where something does not hold."""
    if outcome["skipped"]:
        print(f"  skipped  {outcome['kind']} {outcome['role']}: {outcome['skipped']}", flush=True)
        return
    mark = "FAULT" if outcome["faults"] else "ok"
    figures = f"code {outcome['code']}  {outcome['seconds']:6.2f} s  {outcome['peak'] / MB:5.1f} MB"
    print(
        f"{mark:>7}  {outcome['kind']:<28} {outcome['role']:<17} {figures}  {', '.join(outcome['violated'])}",
        flush=True,
    )
    for fault in outcome["faults"]:
        print(f"           - {fault}", flush=True)
    if verbose:
        for name in ("stdout", "stderr"):
            for line in outcome[name].splitlines()[:60]:
                print(f"           {name}: {line}", flush=True)
