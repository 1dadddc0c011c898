"""How long programs take to start."""

import os
import shutil

from measure.figures import Table, goal, middle, show

from . import row
from .scenarios import HURL

HEALTH = """\
wirecert: 1
title: The server is healthy
role: amplifier-server
edition: "2025-12-09"
steps:
  - request: { as: health, endpoint: health }
  - expect: { response: { to: health, status: 200, json: { status: healthy } } }
"""


def forget(path):
    """Has the system forget a program that it keeps in memory."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def copies(context):
    """Copies of both programs, below target/: a program in a file system that is in memory could not be forgotten."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(context.bare))), f"start-{os.getpid()}")
    os.makedirs(folder, exist_ok=True)
    ours = shutil.copy(context.wirecert, os.path.join(folder, "wirecert"))
    theirs = context.hurl and shutil.copy(context.hurl, os.path.join(folder, "hurl"))
    return folder, ours, theirs


@row("start", "Starting")
def start(context):
    """From the start of the process to the first request on the wire (a scenario of one request against a server that already
    listens, `--url` and no isolation), to the end of `--version`, and to the first connection that a mock accepts. Cold:
    the program is no longer in the memory of the system."""
    folder, ours, theirs = copies(context)
    try:
        return [measure(context, ours, theirs)]
    finally:
        shutil.rmtree(folder)


def measure(context, ours, theirs):
    """All starts, cold and warm."""
    scenario = context.write("amplifier-server/compare/health.yaml", HEALTH)
    hurl = context.write("health.hurl", HURL.split("\n\n", 1)[0] + "\n")
    first = ("first", "--", ours, "run", scenario, "--url", "http://127.0.0.1:{port}/", "--progress", "none", "-q")
    rival = theirs and ("first", "--", theirs, "--test", "--variable", "port={port}", hurl)
    table = Table("", "", "wirecert", "goal", "hurl")
    kinds = [
        ("first request on the wire", "asked", first, rival, 10e-3),
        ("…and to the end", "ended", first, rival, None),
        (
            "`--version`",
            "seconds",
            ("time", "--", ours, "--version"),
            theirs and ("time", "--", theirs, "--version"),
            5e-3,
        ),
    ]
    for role in ("amp-server", "openctx-provider", "amplifier-server"):
        mock = ("ready", "--", ours, "mock", role, "--workspace", context.workspace)
        kinds.append((f"`mock {role}` accepts", "accepted", mock, None, 15e-3))
    for name, key, command, other, limit in kinds:
        for heat in ("cold", "warm"):
            run, beside = [], []
            for _ in range(context.repeat * 2):
                for who, asked, found in ((ours, command, run), (theirs, other, beside)):
                    if asked and heat == "cold":
                        forget(who)
                    if asked:
                        found.append(context.ask(*asked)[key])
            word = (
                goal(f"≤ {limit * 1e3:g} ms", middle(run), lambda value, limit=limit: value <= limit)
                if limit and heat == "warm"
                else "–"
            )
            table.row(name, heat, show(run, "ms"), word, show(beside, "ms"))
    return table
