"""The clients: a sound, small one for each role, driven over stdin and stdout as docs/clients.md says."""

import json
import os
import socket
import sys
import threading
import urllib.parse

from .wire import Wire, frame, fresh_key, head


def messages(wire):
    """The text messages that come on a WebSocket until it is closed; pings and the close frame are answered."""
    while True:
        opcode, payload = wire.frame()
        if opcode == 8:
            wire.send(frame(payload[:2], True, 8))
            return
        if opcode == 9:
            wire.send(frame(payload, True, 10))
        elif opcode == 1:
            yield payload


class Failure(Exception):
    """A call that failed."""


class Client:
    """What the clients share: reading calls, and writing what came of them."""

    def __init__(self, kind):
        self.kind = kind
        self.lock = threading.Lock()
        url = urllib.parse.urlsplit(os.environ.get("WIRECERT_URL", ""))
        self.address = (url.hostname, url.port)
        self.base = url.path.rstrip("/")
        self.target = url.path + (f"?{url.query}" if url.query else "")
        self.host = url.netloc

    def at(self, stage):
        return self.kind.stage == stage

    def run(self):
        if self.at("start"):
            self.kind.act(self)
        for line in sys.stdin.buffer:
            order = json.loads(line)
            if "close" in order:
                break
            threading.Thread(target=self.answer, args=(order,), daemon=True).start()
        self.leave()

    def answer(self, order):
        try:
            self.say({"id": order["id"], "result": self.call(order["call"], order.get("params", {}), order)}, order)
        except Failure as failure:
            self.say({"id": order["id"], "error": {"message": str(failure)}}, order)
        except (EOFError, OSError, ValueError, KeyError) as failure:
            self.say({"id": order["id"], "error": {"message": f"{type(failure).__name__}: {failure}"}}, order)

    def say(self, line, order=None):
        """Writes a line to the driver."""
        if self.at("line") and order is not None:
            self.kind.act(self, order, line)
        else:
            self.write(json.dumps(line).encode() + b"\n")

    def write(self, data):
        """Writes these bytes to the driver."""
        with self.lock:
            while data:
                data = data[os.write(1, data[: 1 << 16]) :]

    def call(self, name, params, order):
        raise NotImplementedError

    def leave(self):
        """What is to be done before the end."""

    def connect(self):
        sock = socket.create_connection(self.address, timeout=5)
        wire = Wire(sock)
        if self.at("accept"):
            self.kind.act(wire)
            raise Failure("misbehaved")
        return wire

    def body(self, value):
        return self.kind.act(value) if self.at("json") else json.dumps(value).encode()

    def request(self, method, target, value=None):
        """Sends a request, and gives the status and the JSON of the response."""
        wire = self.connect()
        try:
            body = b"" if value is None else self.body(value)
            start = f"{method} {target} HTTP/1.1"
            headers = [("Host", self.host)]
            if value is not None:
                headers.append(("Content-Type", "application/json; charset=utf-8"))
            self.send(wire, start, headers, body)
            status, headers, content = wire.message()
            return int(status.split(" ")[1]), json.loads(content)
        finally:
            wire.close()

    def send(self, wire, start, headers, body):
        """Sends a request; raises `Failure` if the kind has misbehaved in its place."""
        if self.at("http"):
            self.kind.act(wire, start, headers, body)
            raise Failure("misbehaved")
        if body:
            headers = [*headers, ("Content-Length", len(body))]
        wire.send(head(start, headers) + body)

    def upgrade(self, target):
        """Opens a WebSocket."""
        wire = self.connect()
        upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13")]
        headers = [("Host", self.host), *upgrade, ("Sec-WebSocket-Key", fresh_key())]
        self.send(wire, f"GET {target} HTTP/1.1", headers, b"")
        status = wire.until(b"\r\n\r\n").split(b" ")[1]
        if status != b"101":
            raise Failure(f"refused with {status.decode()}")
        return wire

    def text(self, wire, value):
        """Sends a WebSocket message; raises `Failure` if the kind has misbehaved in its place."""
        content = self.body(value)
        if self.at("frame"):
            self.kind.act(wire, content, True)
            raise Failure("misbehaved")
        wire.send(frame(content, True))


class AmpClient(Client):
    """A client of AMP, edition `cli`."""

    def __init__(self, kind):
        super().__init__(kind)
        self.wire = None
        self.waiting = {}

    def call(self, name, params, order):
        request = str(order["id"])
        with self.lock:
            self.wire = self.wire or self.find()
        waiter = self.waiting[request] = [threading.Event(), None]
        self.text(self.wire, {"clientRequest": {"id": request, name: params}})
        if not waiter[0].wait(2) or waiter[1] is None:
            raise Failure("no response")
        return waiter[1]

    def find(self):
        folder = os.path.join(os.environ["AMP_DATA_HOME"], "amp", "ide")
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                lockfile = json.load(file)
            self.address = ("127.0.0.1", lockfile["port"])
            self.host = f"127.0.0.1:{lockfile['port']}"
            wire = self.upgrade(f"/?auth={urllib.parse.quote(lockfile['authToken'], safe='')}")
            wire.sock.settimeout(None)
            threading.Thread(target=self.read, args=(wire,), daemon=True).start()
            return wire
        raise Failure("no editor")

    def read(self, wire):
        try:
            for message in messages(wire):
                response = json.loads(message).get("serverResponse") or {}
                waiter = self.waiting.get(response.pop("id", None))
                if waiter:
                    waiter[1] = next(iter(response.values()))
                    waiter[0].set()
        except (EOFError, OSError, ValueError):
            pass

    def leave(self):
        if self.wire:
            try:
                self.wire.send(frame(b"\x03\xe8", True, 8))
                self.wire.drain(1)
            except OSError:
                pass


class OpenCtxClient(Client):
    """A client of OpenCtx."""

    def call(self, name, params, order):
        request = {"method": name, "params": params, "settings": order.get("settings", {})}
        _, response = self.request("POST", self.target, request)
        if response.get("error") is not None:
            raise Failure(str(response["error"]))
        return response.get("result")


class AmplifierClient(Client):
    """A client of Amplifier that knows what the kinds need of it."""

    def call(self, name, params, order):
        if name == "subscribe":
            return self.subscribe(params)
        if name == "createSession":
            return self.checked("POST", "/sessions", params)
        targets = {"health": "/health", "info": "/info", "listSessions": "/sessions"}
        return self.checked("GET", targets[name])

    def checked(self, method, path, value=None):
        status, content = self.request(method, self.base + path, value)
        if status >= 400:
            raise Failure(str(content))
        return content

    def subscribe(self, params):
        path = f"{self.base}/sessions/{urllib.parse.quote(params['session_id'], safe='')}"
        if params["transport"] == "ws":
            wire = self.upgrade(path + "/ws")
            if self.kind.traffic == "socket" and self.kind.stage in ("frame", "json"):
                self.text(wire, {"action": "stop"})
            threading.Thread(target=self.read_socket, args=(wire,), daemon=True).start()
        else:
            wire = self.connect()
            self.send(wire, f"GET {path}/events HTTP/1.1", [("Host", self.host), ("Accept", "text/event-stream")], b"")
            wire.until(b"\r\n\r\n")
            threading.Thread(target=self.read_stream, args=(wire,), daemon=True).start()
        return {"subscription": 1}

    def read_socket(self, wire):
        try:
            for message in messages(wire):
                self.report(message)
        except (EOFError, OSError, ValueError):
            pass

    def read_stream(self, wire):
        try:
            while True:
                line = wire.until(b"\n")
                if line.startswith(b"data:"):
                    self.report(line[5:])
        except (EOFError, OSError, ValueError):
            pass

    def report(self, data):
        event = json.loads(data)
        self.say({"event": event["event"], "data": event["data"], "subscription": 1})


CLIENTS = {"amp-client": AmpClient, "openctx-client": OpenCtxClient, "amplifier-client": AmplifierClient}
