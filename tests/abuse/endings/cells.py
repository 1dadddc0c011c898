"""Playing the moments of a command and an end, each such pair in a process of its own; and the table of them."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from runner import processes

from . import commands
from .play import ENDS, Play, play

# Seconds of the life of an endless command, and the most of that of another one, in which moments are chosen.
ENDLESS, LONGEST = 3.0, 4.0
# How often the command is run again after its end.
AGAIN_EVERY = 10


def play_cell(name, end, options):
    """Plays the moments of one command and end, and prints each outcome as a line of JSON."""
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    command = commands.by_name(name)
    chosen = random.Random(f"{options.seed}/{name}/{end}")
    folder = tempfile.mkdtemp(prefix="wirecert-ends-recorded-")
    try:
        recorded = record(options, folder) if name == "replay" else None
        duration = options.duration or ENDLESS
        if not command.endless and not options.duration:
            duration = min(LONGEST, measure(command, options, recorded))
        until = options.within and time.monotonic() + options.within
        for number in range(options.moments):
            if until and time.monotonic() > until:
                break
            moment = chosen.uniform(0, duration)
            try:
                outcome = play(command, end, moment, options, recorded, number % AGAIN_EVERY == 1)
            except PermissionError as error:
                print(json.dumps({"skipped": f"no file system of its own: {error}"}), flush=True)
                return
            print(json.dumps(asdict(outcome)), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        processes.end_all(os.getpid())


def record(options, folder):
    """Records the trace that is replayed."""
    run = Play(commands.by_name("record"), options.wirecert, None, False)
    try:
        run.start()
        time.sleep(1.2)
        run.child.send_signal(signal.SIGINT)
        run.wait(20)
        return shutil.copy(run.path("t.trace"), os.path.join(folder, "recorded.trace"))
    finally:
        run.close(False)


def measure(command, options, recorded):
    """Seconds that the command takes if nothing ends it."""
    run = Play(command, options.wirecert, recorded, False)
    try:
        began = time.monotonic()
        run.start()
        code = run.wait(120)
        if code not in commands.USUAL:
            raise SystemExit(f"{command.name} gives {code} by itself: {run.printed()[:300]}")
        return time.monotonic() - began
    finally:
        run.close(False)


def play_all(cells, options, script):
    """Plays all pairs, some at a time; gives the outcomes of each, and prints the faults as they come."""
    with ThreadPoolExecutor(options.jobs) as pool:
        return dict(zip(cells, pool.map(lambda cell: one(*cell, options, script), cells)))


def one(name, end, options, script):
    """Plays one pair in a process of its own; gives the outcomes as dictionaries."""
    words = [sys.executable, script, options.wirecert, "--cell", name, end, "--moments", str(options.moments)]
    words += ["--seed", str(options.seed), "--before", str(options.before), "--within", str(options.within)]
    words += ["--duration", str(options.duration)]
    words += ["--keep"] if options.keep else []
    began, outcomes = time.monotonic(), []
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
    for line in child.stdout:
        outcomes.append(json.loads(line))
        show(outcomes[-1], options)
    code = child.wait()
    if code:
        outcomes.append({"faults": [f"the plays failed with {code}"], "command": name, "end": end})
        show(outcomes[-1], options)
    faulty = sum(bool(outcome.get("faults")) for outcome in outcomes)
    spent = time.monotonic() - began
    print(f"{name:>8} {end:<5} {len(outcomes)} moments, {faulty} with faults, {spent:.0f} s", flush=True)
    return outcomes


def show(outcome, options):
    """Prints what does not hold of a moment."""
    if outcome.get("skipped"):
        print(f"skipped: {outcome['skipped']}", flush=True)
    elif outcome["faults"] or options.verbose:
        at = outcome.get("moment")
        moment = "over before" if at is None else f"{at:.3f} s"
        print(f"{outcome['command']:>8} {outcome['end']:<5} {moment}, code {outcome.get('code')}", flush=True)
        for fault in outcome["faults"]:
            print(f"           - {fault}", flush=True)
        if outcome.get("folder"):
            print(f"           kept {outcome['folder']}", flush=True)


def table(results, names):
    """The table command × end, as Markdown: moments tried (those before the end of the command), faults."""
    lines = ["| command | " + " | ".join(TITLES[end] for end in ENDS) + " |", "|---|" + "---|" * len(ENDS)]
    for name in names:
        lines.append(f"| `{name}` | " + " | ".join(cell(results.get((name, end))) for end in ENDS) + " |")
    return "\n".join(lines) + "\n"


TITLES = {"kill": "kill -9", "int": "SIGINT", "term": "SIGTERM", "full": "full disk"}


def cell(outcomes):
    """What stands in the table for a pair."""
    if not outcomes:
        return ""
    if outcomes[0].get("skipped"):
        return "skipped"
    faulty = sum(bool(outcome["faults"]) for outcome in outcomes)
    during = sum(outcome.get("moment") is not None for outcome in outcomes)
    text = f"{len(outcomes)} ({during}), {faulty}"
    return f"**{text}**" if faulty else text


def sorts(results):
    """The sorts of faults, with how often each came: (command, end, fault) without its numbers."""
    counted = Counter()
    for (name, end), outcomes in results.items():
        for outcome in outcomes:
            for fault in outcome.get("faults", []):
                counted[name, end, "".join("N" if letter.isdigit() else letter for letter in fault)[:100]] += 1
    return counted
