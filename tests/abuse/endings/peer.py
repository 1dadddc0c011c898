#!/usr/bin/env python3
"""A peer that notes what it has exchanged: peer.py server | http-client | amp-client.

Each response of the server has a header `X-Mark` of its own, each request of a client too; the client of AMP sends pings
with a mark. A mark is noted in the file that ENDS_LOG names, with the time, once its bytes are sent (server) or its
response has come (clients). The server also starts a child that left its process group.
"""

import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from kinds import by_name  # noqa: E402
from subjects import client, server  # noqa: E402

# Seconds after which a peer ends by itself.
LIFE = 60
# Seconds between the requests of a client.
PAUSE = 0.004
# How wirecert asks after a play whether the subject still serves: this is no part of the play, and in no trace.
PROBE = {"method": "meta", "params": {}, "settings": {}}
PLAYS = ("certify", "run")
LOCK = threading.Lock()
COUNT = [0]


def new_mark():
    """A mark that nobody else has."""
    with LOCK:
        COUNT[0] += 1
        return f"mark-{os.getpid()}-{COUNT[0]}-"


def note(mark):
    """Notes that this mark has been exchanged."""
    descriptor = os.open(os.environ["ENDS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, f"{time.monotonic():.4f} {mark}\n".encode())
    os.close(descriptor)


class MarkingServer(server.OpenCtxServer):
    """A provider that has an item with a fault, and marks each response."""

    def announce(self):
        subprocess.Popen(["sleep", str(LIFE)], start_new_session=True, stdin=subprocess.DEVNULL)

    def respond(self, wire, start, headers, body):
        wire.is_probe = json.loads(body) == PROBE and os.environ.get("ENDS_COMMAND") in PLAYS
        if json.loads(body).get("method") == "items":
            # `title` has to be a text.
            return self.reply(wire, "200 OK", {"result": [{"title": 1}]})
        return super().respond(wire, start, headers, body)

    def send(self, wire, start, headers, body):
        mark = new_mark()
        done = super().send(wire, start, [*headers, ("X-Mark", mark)], body)
        if not wire.is_probe:
            note(mark)
        return done


class MarkingClient(client.OpenCtxClient):
    """A client that asks without end, and marks each request."""

    def run(self):
        self.target = self.target or "/"
        while True:
            self.call("meta", {}, {})
            note(self.mark)
            time.sleep(PAUSE)

    def send(self, wire, start, headers, body):
        self.mark = new_mark()
        super().send(wire, start, [*headers, ("X-Mark", self.mark)], body)


class PingingClient(client.AmpClient):
    """An agent that pings without end, with a mark in each."""

    def run(self):
        while True:
            mark = new_mark()
            self.call("ping", {"message": mark}, {"id": COUNT[0]})
            note(mark)
            time.sleep(PAUSE)


def main():
    # Whatever happens, it is gone after a while.
    threading.Timer(LIFE, lambda: os._exit(1)).start()
    kind = by_name("sound")
    try:
        {"server": MarkingServer, "http-client": MarkingClient, "amp-client": PingingClient}[sys.argv[1]](kind).run()
    except (OSError, EOFError, ValueError, client.Failure):
        # The other end is gone.
        os._exit(0)


if __name__ == "__main__":
    main()
