#!/usr/bin/env python3
"""A subject that plants secrets: subject.py ROLE. The environment names its plan (see `plan.py`)."""

import json
import os
import signal
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from kinds import by_name  # noqa: E402
from leaks.places import NAMES  # noqa: E402
from leaks.plan import Plan  # noqa: E402
from subjects import client, server  # noqa: E402
from subjects.wire import frame, head  # noqa: E402

# Between pieces of a body, so that they arrive as pieces.
PAUSE = 0.001
# Seconds that a client waits for its responses at the end of its calls.
PATIENCE = 20


class PlantingServer:
    """What the planting servers add to the sound ones."""

    def __init__(self, kind):
        self.plan = Plan(self.protocol)
        super().__init__(kind)
        if self.plan.quiet:
            return
        os.write(2, f"early {self.plan.take('early-output')}\n".encode())
        self.plan.take("argument")
        self.plan.take("env")

    def respond(self, wire, start, headers, body):
        # What the head of the response before has named is known: the other end has read it.
        if getattr(wire, "answered", False) and not self.plan.quiet:
            self.plan.print_later()
        wire.answered = True
        return super().respond(wire, start, headers, body)

    def send(self, wire, start, headers, body):
        planted = [] if self.plan.quiet else self.plan.headers("response")
        return super().send(wire, start, [*headers, *planted], body)

    def reply(self, wire, status, value):
        """Sends the value with all secrets in it, in chunks."""
        if self.plan.quiet:
            return super().reply(wire, status, value)
        if isinstance(value.get("error"), dict):
            value["error"]["message"] = "failed with " + self.plan.take("echo-error")
        first = json.dumps({**value, "introduced": self.plan.introduction()})[:-1] + ',"echoes":['
        parts = [first.encode()]
        for _, echo in self.plan.values():
            parts += [*echo, b","]
        parts[-1] = b"]}"
        headers = [server.DATE, ("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")]
        wire.send(head(f"HTTP/1.1 {status}", [*headers, *self.plan.headers("response")]))
        for part in parts:
            wire.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        wire.send(b"0\r\n\r\n")
        return True

    def plant(self, wire, named):
        """Sends WebSocket messages with secrets; `named` makes a message of a name and its data."""
        wire.send(frame(json.dumps(named("introduced", self.plan.introduction())).encode(), False))
        for echo, parts in self.plan.values():
            before, _, after = json.dumps(named(echo, "@@")).encode().partition(b'"@@"')
            send_cut(wire, [before, *parts, after], False)
        plant_frames(self.plan, wire, False)
        wire.send(frame(json.dumps(named(self.plan.take("echo-event-name"), {})).encode(), False))


def send_cut(wire, parts, masked):
    """Sends a WebSocket message in a frame for each part."""
    parts = [part for part in parts if part]
    for number, part in enumerate(parts):
        wire.send(frame(part, masked, 1 if number == 0 else 0, number == len(parts) - 1))


def plant_frames(plan, wire, masked):
    """Sends secrets in a ping and in a binary message."""
    wire.send(frame(plan.take("echo-control").encode(), masked, 9))
    wire.send(frame(b"\xff\xfe" + plan.take("echo-binary").encode() + b"\xff", masked, 2))


class AmpServer(PlantingServer, server.AmpServer):
    """An editor that plants secrets."""

    protocol = "amp"

    def announce(self):
        folder = os.path.join(os.environ["AMP_DATA_HOME"], "amp", "ide")
        os.makedirs(folder, exist_ok=True)
        for port, name in ((self.port + 1, "other-lockfile"), (self.port, "lockfile")):
            content = {
                "port": port,
                "authToken": self.plan.take(name),
                "pid": os.getpid(),
                "ideName": "leaks",
                "workspaceFolders": [os.getcwd()],
            }
            server.write_lock(folder, f"{port}.json", json.dumps(content).encode())

    def respond(self, wire, start, headers, body):
        query = urllib.parse.unquote(start.split(" ")[1].partition("auth=")[2].partition("&")[0])
        if query != self.plan.secrets["lockfile"]:
            self.send(wire, "HTTP/1.1 401 Unauthorized", [], b"")
            return False
        if not self.upgrade(wire, headers):
            return False
        if not self.plan.quiet:
            self.plant(wire, lambda name, data: {"serverNotification": {name: data}})
        while True:
            opcode, payload = wire.frame()
            if opcode == 8:
                reason = b"" if self.plan.quiet else self.plan.take("echo-close-reason").encode()
                wire.send(frame(payload[:2] + reason, False, 8))
                return False
            if opcode == 9:
                wire.send(frame(payload, False, 10))
            elif opcode == 1:
                self.answer(wire, json.loads(payload)["clientRequest"])

    def answer(self, wire, request):
        """Answers a request, with the token in its text."""
        message, told = "not offered", ""
        if not self.plan.quiet:
            self.plan.print_later()
            told = f" {self.plan.take('lockfile')}"
            message = f"no {self.plan.take('lockfile')} and {self.plan.take('echo-error')}"
        outcome = {"error": {"code": -32601, "message": message}}
        if "ping" in request:
            outcome = {"ping": {"message": f"{request['ping'].get('message')}{told}"}}
        self.text(wire, {"serverResponse": {"id": request["id"], **outcome}})


class FailingServer(AmpServer):
    """An editor that writes its lockfile, prints its token and exits."""

    def run(self):
        self.port = 1
        self.announce()
        time.sleep(0.4)
        os.write(2, f"cannot listen: the token is {self.plan.secrets['lockfile']}\n".encode())
        sys.exit(3)


class OpenCtxServer(PlantingServer, server.OpenCtxServer):
    """A provider that plants secrets, and gives back the settings that it is sent."""

    protocol = "openctx"

    def respond(self, wire, start, headers, body):
        settings = json.loads(body).get("settings") if body else None
        if settings and "token" in settings:
            self.plan.take("settings")
            self.settings = settings
        return super().respond(wire, start, headers, body)

    def reply(self, wire, status, value):
        if getattr(self, "settings", None):
            value = {**value, "settings": self.settings, "told": [f"set to {self.settings['token']}"]}
        return super().reply(wire, status, value)


class AmplifierServer(PlantingServer, server.AmplifierServer):
    """A server that plants secrets, in bodies, event streams and WebSockets."""

    protocol = "amplifier"

    def respond(self, wire, start, headers, body):
        given = (json.loads(body).get("credentials") or {}) if body.startswith(b"{") else {}
        for key in given.values():
            if key == self.plan.secrets["credentials"]:
                self.plan.take("credentials")
                self.key = key
        return super().respond(wire, start, headers, body)

    def reply(self, wire, status, value):
        if getattr(self, "key", None):
            value = {**value, "told": f"the key is {self.key}"}
        return super().reply(wire, status, value)

    def stream(self, wire, session):
        send = wire.send

        def head_and_secrets(data):
            send(data)
            wire.send = slowly(send)
            self.plant_events(wire)
            wire.send = send

        # Before the session has this subscriber, so that no event comes in between the pieces.
        wire.send = head_and_secrets
        super().stream(wire, session)

    def plant_events(self, wire):
        data = json.dumps({"event": "introduced", "data": self.plan.introduction()})
        wire.send(f"data: {data}\n\n".encode())
        wire.send(f": {self.plan.take('echo-comment')}\n\n".encode())
        wire.send(f"event: {self.plan.take('echo-event-name')}\nid: {self.plan.take('json-api_key')}\ndata: 1\n\n".encode())
        for _, parts in self.plan.values():
            for part in [b'data: {"event":"echo","data":', *parts, b"}\n\n"]:
                wire.send(part)

    def socket(self, wire, session, headers):
        upgrade = self.upgrade

        def planting(wire, headers):
            done = upgrade(wire, headers)
            self.plant(wire, lambda name, data: {"event": name, "data": data})
            return done

        self.upgrade = planting
        super().socket(wire, session, headers)


def slowly(send):
    """The same function with a pause after each call."""

    def sending(data):
        send(data)
        time.sleep(PAUSE)

    return sending


class PlantingClient:
    """What the planting clients add to the sound ones."""

    def __init__(self, kind):
        self.plan = Plan(self.protocol)
        self.calls = self.open = 0
        super().__init__(kind)

    def answer(self, order):
        self.open += 1
        super().answer(order)
        self.open -= 1

    def leave(self):
        end = time.monotonic() + (PATIENCE if "LEAKS_PATIENT" in os.environ else 0)
        while self.open and time.monotonic() < end:
            time.sleep(0.02)
        super().leave()

    def call(self, name, params, order):
        self.calls += 1
        if self.calls == 2:
            self.plan.print_later()
        result = super().call(name, params, order)
        data = {NAMES[self.protocol][0]: self.plan.secrets["echo-whole"], "text": self.plan.take("echo-stdout")}
        self.say({"event": "told", "data": data})
        return result

    def send(self, wire, start, headers, body):
        method, target, version = start.split(" ")
        target = target or "/"
        pair = f"{NAMES[self.protocol][-1]}={urllib.parse.quote(self.plan.take('query'), safe='')}"
        target += ("&" if "?" in target else "?") + pair
        super().send(wire, f"{method} {target} {version}", [*headers, *self.plan.headers("request")], body)

    def body(self, value):
        if isinstance(value, dict) and self.protocol != "amp":
            value = {**value, "introduced": self.plan.introduction(), "echo": self.plan.take("echo-whole")}
        return super().body(value)

    def upgrade(self, target):
        wire = super().upgrade(target)
        request = {"clientRequest": {"id": "introduced", "ping": {"message": "", **self.plan.introduction()}}}
        wire.send(frame(json.dumps(request).encode(), True))
        for echo, parts in self.plan.values():
            before = f'{{"clientRequest":{{"id":"{echo}","ping":{{"message":'.encode()
            send_cut(wire, [before, *parts, b"}}}"], True)
        plant_frames(self.plan, wire, True)
        return wire


class AmpClient(PlantingClient, client.AmpClient):
    """An agent that plants secrets, and passes over lockfiles of editors that are not there."""

    protocol = "amp"

    def find(self):
        folder = os.path.join(os.environ["AMP_DATA_HOME"], "amp", "ide")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                lockfile = json.load(file)
            self.address = ("127.0.0.1", lockfile["port"])
            self.host = f"127.0.0.1:{lockfile['port']}"
            try:
                wire = self.upgrade(f"/?auth={urllib.parse.quote(lockfile['authToken'], safe='')}")
            except (OSError, EOFError):
                continue
            wire.sock.settimeout(None)
            threading.Thread(target=self.read, args=(wire,), daemon=True).start()
            return wire
        raise client.Failure("no editor")


class OpenCtxClient(PlantingClient, client.OpenCtxClient):
    """A client of OpenCtx that plants secrets."""

    protocol = "openctx"


class AmplifierClient(PlantingClient, client.AmplifierClient):
    """An extension that plants secrets."""

    protocol = "amplifier"


ROLES = {
    "amp-server": AmpServer,
    "amp-failing": FailingServer,
    "openctx-provider": OpenCtxServer,
    "amplifier-server": AmplifierServer,
    "amp-client": AmpClient,
    "openctx-client": OpenCtxClient,
    "amplifier-client": AmplifierClient,
}


def main():
    signal.alarm(120)
    ROLES[sys.argv[1]](by_name("sound")).run()


if __name__ == "__main__":
    main()
