"""`Kind`, one way to misbehave, and the registry of all.

A kind is declared by decorating the function that misbehaves. `subject.py` calls that function at the stage of the
kind; the runner reads only what is declared beside it.
"""

import importlib

SERVERS = ("amp-server", "openctx-provider", "amplifier-server")
CLIENTS = ("amp-client", "openctx-client", "amplifier-client")
MODULE = ("openctx-module",)
ROLES = SERVERS + MODULE + CLIENTS
WEBSOCKET = ("amp-server", "amplifier-server", "amp-client", "amplifier-client")

# What the function of a kind is given, by its stage:
#   none    nothing: it is never called, the subject is sound
#   start   (subject) before anything else; the subject goes on when it returns
#   serve   (subject, listener) in place of accepting connections
#   lock    (subject, folder, content) in place of writing the lockfile
#   accept  (wire) each new connection, in place of reading from it
#   http    (wire, start, headers, body) in place of sending a response (servers) or a request (clients)
#   json    (value) -> the bytes to send in place of this value: in a body, in a WebSocket message
#   frame   (wire, text, masked) in place of sending this text as a WebSocket message
#   stream  (wire) after the head of an event stream, in place of its events
#   event   (value) -> the bytes of the data of each event of an event stream
#   line    (client, order, line) in place of writing this line to the driver
#   module  (none) the name of a case in `subjects/module.mjs`
STAGES = ("none", "start", "serve", "lock", "accept", "http", "json", "frame", "stream", "event", "line", "module")

# What may be violated by those who send the wrong thing over HTTP, or nothing. A client answers the driver that its call
# failed, so that the result of a call is missing as well.
CALLS = ("ping/client-*", "meta/client-result", "catalogs/client-*")
BROKEN_HTTP = ("connection/*", "framing/*", "envelope/*", "http/*", "robustness/*alive", *CALLS)
# The same of those who respond, but not as they should.
REFUSED = (*BROKEN_HTTP, "meta/offered", "health/status", "info/status", "errors/format")

# What a play keeps of a flood of large messages, bodies or JSON values is bounded, but several plays go on side by side.
KNOWN = {"peak": 600}

# Exit codes, docs/verdicts.md.
CONFORMS, VIOLATED, UNREACHED, INCOMPLETE = 0, 1, 3, 4


class Kind:
    """One way to misbehave, and what has to come of it."""

    # Seconds within which wirecert ends.
    bound = 60
    # Megabytes that wirecert may take. More than 100 only where it is known to take more: these are still bold in the table.
    peak = 100
    # Exit codes that are true.
    codes = frozenset({VIOLATED, UNREACHED, INCOMPLETE})
    # Patterns of requirements, without protocol and edition: no other `must` may be violated. Empty: not held.
    accused = ()
    # What the subject speaks where it has several things to say: "plain", "stream" or "socket".
    traffic = "plain"
    # `--timeout`.
    timeout = "400ms"
    # Additional keys of wirecert.yaml.
    subject = {}
    # Scenarios to play in place of those of the role: a filter, or "" for the whole suite.
    suite = None
    # Extra options of wirecert.
    options = ()
    # Size of the file system that holds TMPDIR, for mount(8); empty: no file system of its own.
    disk = ""

    def __init__(self, name, about, roles, stage, act, **more):
        self.name, self.about, self.roles, self.stage, self.act = name, about, roles, stage, act
        for key, value in more.items():
            assert hasattr(Kind, key), key
            setattr(self, key, value)


_KINDS = {}
_MODULES = ("process", "documents", "files", "connection", "http", "frames", "streams", "driver", "module", "suites")


def kind(name, roles, stage, about, codes=None, **more):
    """Declares the decorated function as a kind."""
    assert stage in STAGES, stage
    if codes is not None:
        more["codes"] = frozenset(codes)

    def declare(act):
        assert name not in _KINDS, name
        _KINDS[name] = Kind(name, about, tuple(roles), stage, act, **more)
        return act

    return declare


def every():
    """All kinds, in the order of their declaration."""
    for module in _MODULES:
        importlib.import_module(f"{__package__}.{module}")
    return list(_KINDS.values())


def by_name(name):
    """The kind of this name; `KeyError` if there is none."""
    every()
    return _KINDS[name]
