"""The inputs that fuzzing begins with: from the examples, scenarios and pages of this repository, and from runs of wirecert."""

import gzip
import json
import os
import re
import struct
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Larger files only slow fuzzing down. Bytes.
MAX_SEED = 16 << 10
PIECE = 64


def make(folder, wirecert):
    """Writes the seeds of every reader into a folder of its own below `folder`."""
    traces, reports = recorded(folder, wirecert)
    blocks = yaml_blocks()
    scripts = [text for text in blocks if "steps:" in text or "prompts:" in text or "do:" in text]
    texts = {
        "scenario": [*files("scenarios", ".yaml"), *files("tests/scenario_errors", ".yaml"), *files("tests/scenario_language", ".yaml")],
        "subject": [*files("examples", "wirecert.yaml"), *(text for text in blocks if "role:" in text or "launch:" in text)],
        "baseline": [*files("examples", "baseline.yaml"), *(text for text in blocks if "- requirement:" in text), BASELINE],
        "trace": traces,
        "report": reports,
        "script": [*scripts, *files("examples", "script.yaml")],
        "data": [text for text in blocks if "mentions:" in text or "items:" in text],
        "lockfile": LOCKFILES,
        "http": [pieces(list(conversation)) for conversation in http_conversations()],
        "websocket": [pieces(list(conversation)) for conversation in websocket_conversations()],
        "frames": FRAMES,
        "events": [bytes([bound]) + stream for stream in STREAMS for bound in (0, 9)],
    }
    for reader, seeds in texts.items():
        into = os.path.join(folder, "seeds", reader)
        os.makedirs(into, exist_ok=True)
        for number, seed in enumerate(seeds):
            data = seed if isinstance(seed, bytes) else seed.encode()
            if len(data) <= MAX_SEED:
                with open(os.path.join(into, f"{number:04}"), "wb") as file:
                    file.write(data)


def files(folder, ending):
    """The texts of the files below a folder of the repository whose names end so."""
    for at, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
        for name in sorted(names):
            if name.endswith(ending) and "node_modules" not in at and "target" not in at:
                with open(os.path.join(at, name), "rb") as file:
                    yield file.read()


def yaml_blocks():
    """The blocks of YAML in the pages of the repository."""
    found = []
    for text in [*files("docs", ".md"), *files(".", "README.md")]:
        found += re.findall(r"```yaml\n(.*?)```", text.decode(), re.S)
    return found


def recorded(folder, wirecert):
    """Traces and reports of a few scenarios that wirecert plays at its own mocks."""
    into = os.path.join(folder, "recorded")
    os.makedirs(into, exist_ok=True)
    report = os.path.join(into, "report.json")
    command = [wirecert, "certify", "--self", "--filter", FILTER, "--trace-dir", os.path.join(into, "traces")]
    command += ["--progress", "none", "--report", f"json={report}", "--shard", "1/1", "--jobs", "2"]
    subprocess.run(command, check=False, capture_output=True, cwd=into, timeout=300)
    traces = []
    for at, _, names in os.walk(os.path.join(into, "traces")):
        for name in sorted(names):
            with open(os.path.join(at, name), "rb") as file:
                traces.append(file.read())
    reports = []
    if os.path.isfile(report):
        with open(report, "rb") as file:
            whole = json.loads(file.read())
        reports = [smaller(whole, count) for count in (0, 1, 3)]
    return traces, reports


def smaller(report, count):
    """A report of which the first subject and so many of the entries of its lists are left."""

    def cut(value):
        if isinstance(value, dict):
            return {key: cut(item) for key, item in value.items()}
        return [cut(item) for item in value[:count]] if isinstance(value, list) else value

    return json.dumps({**report, "subjects": [cut(subject) for subject in report["subjects"][:1]]})


FILTER = "id(*/ping/echo)|id(*/meta/meta)|id(*/meta/result)|id(*/health/healthy)|id(*/events/text)|id(*/catalogs/health)"
BASELINE = b"- requirement: amp/cli/framing/utf8\n  scenario: amp-server/cli/*\n  reason: known\n  until: 2030-01-01\n"
LOCKFILES = [
    b'{"port":1234,"authToken":"x","pid":1,"workspaceFolders":["/a"],"ideName":"b"}',
    b'{"port":1234,"authToken":"x"}',
    b'{"port":1e9,"authToken":null}',
    b"[]",
    b"\xef\xbb\xbf{}",
]


def pieces(parts):
    """A connection as the readers `http` and `websocket` take it: pairs of direction (0 to the server) and bytes."""
    out = bytearray()
    for way, data in parts:
        for at in range(0, len(data), PIECE - 1):
            piece = data[at : at + PIECE - 1]
            out += bytes([way << 7 | len(piece)]) + piece
    return bytes(out)


GET = b"GET /a HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n" + b'{"method":"me"}'


def http_conversations():
    """Requests and responses in all framings."""
    zipped = gzip.compress(b'{"result":{"name":"x"}}', mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    yield [(0, POST), (1, head + b"Content-Length: 2\r\n\r\n{}")]
    yield [(0, POST), (1, head + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n")]
    yield [(0, POST), (1, head + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(zipped), zipped))]
    yield [(0, GET), (1, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\nid: 1\nevent: x\ndata: y\n\n")]
    yield [(0, POST + POST), (1, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\nHTTP/1.1 404 No\r\n\r\n")]
    yield [(0, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), (1, b"HTTP/1.0 200 OK\r\n\r\nabc")]
    yield from websocket_conversations()


def websocket_conversations():
    """Handshakes and frames, also compressed."""
    ask = b"GET /?auth=x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n"
    ask += b"Sec-WebSocket-Version: 13\r\n\r\n"
    accept = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    yield [(0, ask), (1, accept + b"\r\n"), (0, FRAMES[1]), (1, FRAMES[0]), (0, FRAMES[2]), (1, FRAMES[3])]
    deflate = accept + b"Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n\r\n"
    yield [(0, ask), (1, deflate), (1, b"\xc1\x07\xf2H\xcd\xc9\xc9\x07\x00")]
    yield [(0, ask), (1, b"HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno")]


def frame(opcode, payload, key=None, fin=True, rsv=0):
    """A WebSocket frame."""
    size = len(payload)
    mask = 0x80 if key else 0
    length = bytes([mask | size]) if size < 126 else bytes([mask | 126]) + struct.pack(">H", size)
    body = bytes(byte ^ key[i % 4] for i, byte in enumerate(payload)) if key else payload
    return bytes([fin << 7 | rsv << 4 | opcode]) + length + (key or b"") + body


FRAMES = [
    frame(1, b'{"a":1}'),
    frame(1, b'{"a":1}', b"abcd"),
    frame(1, b"ab", b"abcd", fin=False) + frame(9, b"?", b"abcd") + frame(0, b"c", b"efgh"),
    frame(8, b"\x03\xe8bye"),
    frame(2, b"x" * 300),
    b"\x82\x7f\0\0\0\0\0\1\0\0xyz",
]
STREAMS = [
    b"data: a\n\n",
    b"\xef\xbb\xbfid: 1\r\nevent: x\r\ndata: a\r\ndata: b\r\n\r\n",
    b": c\rretry: 10\rdata\r\r",
    b"id: \0\ndata: \xff\xe2\x82\n\n",
]
