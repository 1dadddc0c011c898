"""The servers: a sound, small one for each role, which hands over to its kind at the stage of that kind."""

import json
import os
import socket
import threading
import time
from urllib.parse import unquote

from .wire import Wire, accept_key, frame, head

TOKEN = "0123456789abcdef"
DATE = ("Date", "Thu, 01 Jan 2026 00:00:00 GMT")


class Server:
    """What the servers share: it listens on loopback, and serves each connection on a thread of its own."""

    def __init__(self, kind):
        self.kind = kind
        self.port = int(os.environ.get("WIRECERT_PORT") or 0)

    def at(self, stage):
        return self.kind.stage == stage

    def run(self):
        if self.at("start"):
            self.kind.act(self)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(128)
        self.port = listener.getsockname()[1]
        self.announce()
        if self.at("serve"):
            self.kind.act(self, listener)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=self.serve, args=(Wire(sock),), daemon=True).start()

    def announce(self):
        """Says where it is, once it listens."""

    def serve(self, wire):
        try:
            if self.at("accept"):
                self.kind.act(wire)
                return
            while True:
                start, headers, body = wire.message()
                if not self.respond(wire, start, headers, body):
                    return
        except (EOFError, OSError, ValueError, KeyError):
            pass
        finally:
            wire.close()

    def respond(self, wire, start, headers, body):
        """Answers one request; false if the connection is not to be used again."""
        raise NotImplementedError

    def reply(self, wire, status, value):
        """Sends this value as the body of a response."""
        plain = self.kind.traffic == "plain"
        content = self.kind.act(value) if self.at("json") and plain else json.dumps(value).encode()
        return self.send(wire, f"HTTP/1.1 {status}", [("Content-Type", "application/json")], content)

    def send(self, wire, start, headers, body):
        headers = [DATE, *headers]
        if self.at("http"):
            self.kind.act(wire, start, headers, body)
            return False
        if not start.startswith("HTTP/1.1 101"):
            headers.append(("Content-Length", len(body)))
        wire.send(head(start, headers) + body)
        return True

    def upgrade(self, wire, headers):
        """Accepts a WebSocket; false if the kind has taken the response over."""
        key = headers["sec-websocket-key"]
        upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept_key(key))]
        return self.send(wire, "HTTP/1.1 101 Switching Protocols", upgrade, b"")

    def text(self, wire, value):
        """Sends this value as a WebSocket message."""
        content = self.kind.act(value) if self.at("json") else json.dumps(value).encode()
        if self.at("frame"):
            self.kind.act(wire, content, False)
        else:
            wire.send(frame(content, False))


class AmpServer(Server):
    """An editor of AMP, edition `cli`, that answers pings."""

    def announce(self):
        folder = os.path.join(os.environ["AMP_DATA_HOME"], "amp", "ide")
        os.makedirs(folder, exist_ok=True)
        content = {
            "port": self.port,
            "authToken": TOKEN,
            "pid": os.getpid(),
            "ideName": "abuse",
            "workspaceFolders": [os.getcwd()],
        }
        if self.at("lock"):
            self.kind.act(self, folder, content)
        else:
            write_lock(folder, f"{self.port}.json", json.dumps(content).encode())

    def respond(self, wire, start, headers, body):
        if f"auth={TOKEN}" not in start:
            self.send(wire, "HTTP/1.1 401 Unauthorized", [], b"")
            return False
        if not self.upgrade(wire, headers):
            return False
        while True:
            opcode, payload = wire.frame()
            if opcode == 8:
                wire.send(frame(payload[:2], False, 8))
                return False
            if opcode == 9:
                wire.send(frame(payload, False, 10))
            elif opcode == 1:
                request = json.loads(payload)["clientRequest"]
                outcome = {"error": {"code": -32601, "message": "not offered"}}
                if "ping" in request:
                    outcome = {"ping": {"message": request["ping"].get("message")}}
                self.text(wire, {"serverResponse": {"id": request["id"], **outcome}})


class OpenCtxServer(Server):
    """A provider of OpenCtx that has only a name."""

    def respond(self, wire, start, headers, body):
        method = json.loads(body).get("method")
        known = {"meta": {"name": "abuse"}, "mentions": [], "items": [], "annotations": []}
        if method in known:
            return self.reply(wire, "200 OK", {"result": known[method]})
        return self.reply(wire, "200 OK", {"error": {"code": -32601, "message": "no such method"}})


class AmplifierServer(Server):
    """An Amplifier server that answers every prompt with two words."""

    def __init__(self, kind):
        super().__init__(kind)
        self.began = time.monotonic()
        self.subscribers = {}

    def respond(self, wire, start, headers, body):
        method, target, _ = start.split(" ", 2)
        parts = [unquote(part) for part in target.split("?")[0].strip("/").split("/")]
        if parts == ["health"]:
            uptime = int(time.monotonic() - self.began)
            health = {"status": "healthy", "version": "0.1.0", "uptime_seconds": uptime, "active_sessions": 0}
            return self.reply(wire, "200 OK", health)
        if parts == ["info"]:
            capabilities = {"streaming": True, "extended_thinking": True, "tool_use": True}
            config = {"host": "127.0.0.1", "port": self.port, "profiles_path": "p", "collections_path": "c"}
            info = {
                "version": "0.1.0",
                "amplifier_core_version": "0.5.0",
                "capabilities": capabilities,
                "config": config,
            }
            return self.reply(wire, "200 OK", info)
        if parts == ["sessions"] and method == "POST":
            digits = os.urandom(16).hex()
            session = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
            self.subscribers[session] = []
            created = {
                "session_id": session,
                "status": "created",
                "profile": "dev",
                "created_at": "2026-01-01T00:00:00Z",
            }
            return self.reply(wire, "201 Created", created)
        if len(parts) == 3 and parts[0] == "sessions" and parts[1] in self.subscribers:
            session = parts[1]
            if parts[2] == "prompt":
                accepted = {"request_id": "req-1", "status": "processing", "message": "accepted"}
                kept = self.reply(wire, "202 Accepted", accepted)
                self.work(session, json.loads(body)["prompt"])
                return kept
            if parts[2] == "events":
                self.stream(wire, session)
                return False
            if parts[2] == "ws":
                self.socket(wire, session, headers)
                return False
        error = {"code": "SESSION_NOT_FOUND", "message": "no such thing"}
        return self.reply(wire, "404 Not Found", error)

    def stream(self, wire, session):
        """Serves an event stream until the other end leaves."""
        headers = [DATE, ("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache"), ("Connection", "close")]
        wire.send(head("HTTP/1.1 200 OK", headers))
        if self.at("stream"):
            self.kind.act(wire)
            return

        def tell(event):
            data = self.kind.act(event) if self.at("event") else json.dumps(event).encode()
            wire.send(b"data: " + data + b"\n\n")

        self.subscribers[session].append(tell)
        wire.drain()

    def socket(self, wire, session, headers):
        if not self.upgrade(wire, headers):
            return
        started = {"session_id": session, "profile": "dev", "timestamp": "2026-01-01T00:00:00Z"}
        self.text(wire, {"event": "session:start", "data": started})
        self.subscribers[session].append(lambda event: self.text(wire, event))
        while True:
            opcode, payload = wire.frame()
            if opcode == 8:
                wire.send(frame(payload[:2], False, 8))
                return
            if opcode == 9:
                wire.send(frame(payload, False, 10))

    def work(self, session, prompt):
        def data(**more):
            return {"session_id": session, **more}

        usage = {"input_tokens": 1, "output_tokens": 2}
        events = [
            ("prompt:submit", data(request_id="req-1", prompt=prompt)),
            ("content_block:start", data(block_type="text", block_index=0)),
            ("content_block:delta", data(block_index=0, delta="two words")),
            ("content_block:end", data(block_index=0)),
            ("prompt:complete", data(request_id="req-1", response="two words", token_usage=usage)),
        ]
        for name, content in events:
            for tell in self.subscribers[session]:
                try:
                    tell({"event": name, "data": content})
                except OSError:
                    pass


def write_lock(folder, name, content):
    """Writes a lockfile in one step."""
    path = os.path.join(folder, name)
    with open(path + ".tmp", "wb") as file:
        file.write(content)
    os.replace(path + ".tmp", path)


SERVERS = {"amp-server": AmpServer, "openctx-provider": OpenCtxServer, "amplifier-server": AmplifierServer}
