"""HTTP/1.1: wrong messages against the mock server and the client of wirecert, with the parser of node as second opinion."""

import concurrent.futures
import json
import os
import re
import socket
import subprocess
import sys

from . import http_messages, tools
from .tools import Row

META = {"name": "codecs", "items": {}}
REQUEST = json.dumps({"method": "meta", "params": {}, "settings": {}}).encode()
RESPONSE = json.dumps({"result": META}).encode()
# The request that may be hidden in another one, or follow it.
SECOND = b"POST /second HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(REQUEST),
    REQUEST,
)
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (
    len(RESPONSE),
    RESPONSE,
)
# Seconds that a server gets for its responses.
PATIENCE = 1.5
PARALLEL = 4


def rows(options):
    """All results of this part."""
    requests, responses = list(http_messages.requests()), list(http_messages.responses())
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        took = sent_to_mock(options, requests, pool)
        told = list(pool.map(lambda message: told_of_request(options, message), requests))
        node = sent_to_node(requests, pool)
        yield from map(lambda *found: judged("HTTP requests", *found), requests, took, told, node)
        results = list(pool.map(lambda message: told_of_response(options, message), responses))
        node = list(pool.map(taken_by_node, responses))
    took, told = zip(*results)
    yield from map(lambda *found: judged("HTTP responses", *found), responses, took, told, node)


def judged(part, message, took, told, node):
    """The row of a message: whether wirecert took it, what it told, and what node did.

    wirecert reads what it can, and tells what is wrong: what a recipient has to refuse it has to refuse or to tell.
    """
    got = f"{took}, told: {', '.join(told) or 'nothing'}; node: {node}"
    is_told = bool(told)
    if message.refuse == "no":
        expected = f"taken, told: {'something' if message.wrong else 'nothing'}"
        holds = took == "taken" and is_told == message.wrong
    elif message.group == "limits":
        expected = "either, told: nothing of what is taken"
        holds = took == "refused" or not is_told
    else:
        expected = "refused or told"
        holds = took == "refused" or is_told
    outcome = "holds" if holds else "choice" if message.refuse == "may" else "differs"
    return Row(part, message.group, message.name, expected, got, outcome)


# Servers.


def statuses(port, data):
    """The statuses with which a server responds to these bytes, while we wait and then end our side."""
    with tools.connect(port) as stream:
        try:
            stream.sendall(data)
        except OSError:
            pass
        answers = b""
        stream.settimeout(PATIENCE)
        try:
            while piece := stream.recv(1 << 16):
                answers += piece
        except OSError:
            pass
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3})", answers)]


def outcome_of(codes):
    """What the statuses mean: refused, taken, or taken and another request found in it."""
    finals = [code for code in codes if code >= 200]
    if not finals or finals[0] >= 400:
        return "refused"
    return "taken"


def sent_to_mock(options, messages, pool):
    """What the mock provider does with each request, after which another one comes."""
    with tools.folder() as folder:
        command = [options.wirecert, "mock", "openctx-provider", "--workspace", folder]
        with tools.Process(command) as mock:
            port = mock.json()["port"]
            return list(pool.map(lambda m: outcome_of(statuses(port, m.make(REQUEST) + SECOND)), messages))


def sent_to_node(messages, pool):
    """What the server of node does with each request."""
    with tools.node("http_server.mjs") as server:
        port = int(server.first)
        return list(pool.map(lambda m: outcome_of(statuses(port, m.make(REQUEST) + SECOND)), messages))


# Clients.


class Server(tools.Listener):
    """Answers every request with the same bytes, and closes; ends with the block. `first` is for the first request."""

    def __init__(self, answer, first=None):
        self.answer = answer
        self.first = first
        super().__init__()

    def serve(self, stream):
        """Reads a request, and answers it."""
        stream.settimeout(tools.SOON)
        try:
            with stream:
                data = b""
                while b"\r\n\r\n" not in data:
                    piece = stream.recv(1 << 16)
                    if not piece:
                        return
                    data += piece
                head, _, body = data.partition(b"\r\n\r\n")
                size = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
                while size and len(body) < int(size[1]):
                    body += stream.recv(1 << 16)
                answer, self.first = self.first or self.answer, None
                stream.sendall(answer)
                stream.shutdown(socket.SHUT_WR)
                # So that the answer is not lost with a reset.
                tools.receive_all(stream, PATIENCE)
        except OSError:
            pass


def told_of_response(options, message):
    """What wirecert's client makes of a response, and the requirements on HTTP whose violation is told."""
    # With the first request `certify` only finds out whether somebody is there.
    with tools.folder() as folder, Server(message.make(RESPONSE), PLAIN) as server:
        url = f"http://127.0.0.1:{server.port}/"
        command = ["certify", "openctx-provider", "--url", url, "--filter", "id(*/meta/meta)"]
        ids = certified(options, folder, command)
        taken = any(event.get("json") == {"result": META} for event in messages_in(folder))
    return "taken" if taken else "refused", ids


def told_of_request(options, message):
    """The requirements on HTTP whose violation is told of a client that sends this request."""
    with tools.folder() as folder:
        path = os.path.join(folder, "request")
        with open(path, "wb") as file:
            file.write(message.make(REQUEST))
        program = os.path.join(tools.HERE, "suites", "raw_client.py")
        command = ["certify", "openctx-client", "--filter", "id(openctx-client/0.1/meta/result)"]
        return certified(options, folder, command, [sys.executable, "-S", program, path])


def certified(options, folder, command, subject=()):
    """Runs `certify`; returns the short names of the requirements on HTTP whose violation it tells."""
    command = [options.wirecert, *command, "--timeout", "2s", "--confirm-time", "100ms", "--progress", "none"]
    command += ["--trace-dir", os.path.join(folder, "traces"), "--report", "json=report.json", "--quiet"]
    if subject:
        command += ["--", *subject]
    subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=120)
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    ids = {finding["requirement"] for one in report["subjects"] for finding in one["findings"]}
    return sorted(name.partition("/0.1/")[2] for name in ids if "/http/" in name and "timely" not in name)


def messages_in(folder):
    """The messages that servers sent, in all traces of a folder."""
    for at, _, names in os.walk(os.path.join(folder, "traces")):
        for name in names:
            for event in tools.events(os.path.join(at, name)):
                if event["kind"] == "message" and event["dir"] == "s2c":
                    yield event


def taken_by_node(message):
    """What the client of node makes of a response."""
    with Server(message.make(RESPONSE)) as server:
        program = os.path.join(tools.PROGRAMS, "http_client.mjs")
        done = subprocess.run(["node", program, str(server.port)], check=True, capture_output=True, text=True)
    return "taken" if done.stdout.strip() == RESPONSE.decode() else "refused"
