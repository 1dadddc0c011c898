"""`COMMANDS`: the commands that are ended, each with what it is given and what it writes."""

import json
import os
import re
import shlex
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
PEER = os.path.join(HERE, "peer.py")
PYTHON = sys.executable
# Exit codes of a run that nothing ended, and of one that was interrupted.
USUAL = frozenset({0, 1, 3, 4, 5})
INTERRUPTED = frozenset({130})
STOPPED = frozenset({0})
# `record --check` says after SIGTERM what it found.
RECORDED = frozenset({0, 1, 4})
# What could not be written to its end.
UNWRITTEN = frozenset({2})
REPORTS = ("json", "junit", "sarif", "html", "markdown", "tap", "badge", "badge-json", "certificate", "text")
# Fails at the subject: the text is none that it gives.
SCENARIO = """wirecert: 1
title: Items are shown
role: openctx-provider
edition: "0.1"
steps:
  - request: { as: a, method: meta, params: {} }
  - expect: { response: { to: a } }
  - request: { as: b, method: items, params: { message: "hello" } }
  - expect: { response: { to: b, result: [{ title: shown }] }, proves: items/result }
"""


@dataclass
class Command:
    """A command, and what is promised of its end."""

    name: str
    words: Callable
    # Exit codes after SIGINT and after SIGTERM.
    on_interrupt: frozenset = INTERRUPTED
    on_terminate: frozenset = INTERRUPTED
    # The exit code of an endless one after SIGINT, when the disk is full.
    on_full: frozenset = UNWRITTEN
    # Starts what exchanges messages with it; is given the play.
    around: Callable = lambda play: None
    # Whether it runs until it is ended.
    endless: bool = False
    # Whether it keeps traces of what is exchanged.
    traces: bool = True


def reports(kinds):
    """The options that ask for these reports."""
    return [word for kind in kinds for word in ("--report", f"{kind}=report.{kind}")]


def subject(play):
    """Writes the description of the subject, and gives the options that name it."""
    described = {
        "name": "ends",
        "role": "openctx-provider",
        "edition": "0.1",
        "launch": [PYTHON, "-S", "-E", PEER, "server"],
        "message": "hello",
        "missing": ["mentions", "annotations"],
        "ready": {"within": "20s"},
        "stop": {"within": "500ms"},
    }
    play.write("wirecert.yaml", json.dumps(described))
    return ["--subject", "wirecert.yaml", "--timeout", "1s"]


def certify(play):
    """A part of the suite, with every report, traces and snapshots."""
    suite = "id(*/meta/*)|id(*/items/shown*)"
    words = ["certify", *subject(play), "--filter", suite, "--no-confirm", "--trace-dir", "traces", "--jobs", "2"]
    return [*words, "--snapshots", "snapshots", "--progress", "lines", *reports(REPORTS)]


def run(play):
    """A scenario that fails, many times."""
    play.write("failing.yaml", SCENARIO)
    words = ["run", "failing.yaml", *subject(play), "--repeat", "150", "--no-confirm", "--jobs", "2"]
    return [*words, "--trace-dir", "traces", "--progress", "none", *reports(REPORTS)]


def record(play):
    """A recording of a client that asks without end."""
    client = f"exec {shlex.quote(PYTHON)} -S -E {shlex.quote(PEER)} http-client"
    words = ["record", "openctx", "--upstream", f"http://127.0.0.1:{play.port}", "--out", "t.trace", "--check"]
    return [*words, "--", "sh", "-c", client]


def record_around(play):
    """The server that is recorded."""
    play.start_peer("server", WIRECERT_PORT=str(play.port))


def replay(play):
    """A recording, as the client."""
    words = ["replay", play.recorded(), "--as", "client", "--timing", "2x", "--timeout", "2s", "--out", "again.trace"]
    return [*words, *subject(play)[:2], *reports(("json", "text"))]


def shrink(play):
    """A scenario that fails, made smaller."""
    play.write("failing.yaml", SCENARIO)
    return ["shrink", "failing.yaml", *subject(play), "--out", "least.yaml", "--max-time", "15s", "-v"]


def fuzz(play):
    """Generated traffic."""
    words = ["fuzz", "openctx-provider", *subject(play), "--seed", "1", "--cases", "100", "--out", "found", "--jobs", "2"]
    # Shrinking takes a minute and a half for each violation, and is a command of its own here.
    return [*words, "--no-shrink", *reports(("json", "text"))]


def mock(play):
    """A mock editor with a trace."""
    words = ["mock", "amp-server", "--data-home", play.path("data"), "--trace", "t.trace"]
    return [*words, "--workspace", play.path("workspace")]


def mock_around(play):
    """Starts a client that pings, once the mock is ready."""
    os.makedirs(play.path("workspace"), exist_ok=True)

    def pinging():
        if play.await_text("stdout", "\n"):
            play.start_peer("amp-client", AMP_DATA_HOME=play.path("data"))

    threading.Thread(target=pinging, daemon=True).start()


def inspect(play):
    """An inspector of a subject, with a trace."""
    return ["inspect", "openctx-provider", *subject(play), "--trace", "t.trace", "--keep", "kept"]


def inspect_around(play):
    """Has the inspector send requests, and save what was seen, until it is gone."""

    def acting():
        found = re.search(r"(http://\S+)/#token=(\S+)", play.await_text("stderr", "#token=") or "")
        while found and not play.over:
            try:
                post(found[1] + "/api/act", found[2], {"act": "request", "params": {"method": "meta"}})
                if int(time.monotonic() * 10) % 5 == 0:
                    post(found[1] + "/api/keep", found[2], {"from": 0, "to": 50, "as": "scenario", "side": "client"})
            except (OSError, ValueError):
                return

    threading.Thread(target=acting, daemon=True).start()


def post(url, token, body):
    """Posts JSON to the inspector."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            response.read()
    except urllib.error.HTTPError as error:
        # It could not be done: what was found says so.
        error.read()


COMMANDS = (
    Command("certify", certify),
    Command("run", run),
    Command("record", record, on_terminate=RECORDED, around=record_around, endless=True),
    Command("replay", replay),
    Command("shrink", shrink, traces=False),
    Command("fuzz", fuzz, traces=False),
    Command("mock", mock, on_terminate=STOPPED, around=mock_around, endless=True),
    Command("inspect", inspect, on_terminate=STOPPED, around=inspect_around, endless=True),
)


def by_name(name):
    """The command of this name."""
    return next(command for command in COMMANDS if command.name == name)
