"""What a driven client writes to the driver: its stdout, docs/clients.md."""

import json
import os
import time

from .documents import DOCUMENTS, bounds
from .kind import CLIENTS, CONFORMS, INCOMPLETE, UNREACHED, VIOLATED, kind

ANY = {CONFORMS, VIOLATED, UNREACHED, INCOMPLETE}


# What may be violated by those who are sound on the wire.
DRIVER = ("ping/client-result", "meta/client-result", "catalogs/client-*", "robustness/client-alive")


def line(name, about, **more):
    return kind(f"line-{name}", CLIENTS, "line", about, **{"accused": DRIVER, **more})


def writes(name, about, make, **more):
    """A kind that writes what `make` gives for an id and a line, in the place of the line."""

    @line(name, about, **more)
    def act(client, order, answer):
        client.write(make(order["id"], answer))


def sound(answer):
    return json.dumps(answer).encode() + b"\n"


@line("never", "answers no call")
def never(client, order, answer):
    pass


@line("cut", "hangs in the middle of a line")
def cut(client, order, answer):
    client.write(sound(answer)[:-4])


@line("exits", "exits in the place of an answer")
def exits(client, order, answer):
    os._exit(5)


@line("closes", "closes its stdout in the place of an answer")
def closes(client, order, answer):
    os.close(1)


@line("slow", "writes its answers one byte in 20 ms", codes=ANY, timeout="8s")
def slow(client, order, answer):
    for byte in sound(answer)[:200]:
        client.write(bytes([byte]))
        time.sleep(0.02)
    client.write(sound(answer)[200:])


@line("endless", "writes a line without end")
def endless(client, order, answer):
    for _ in range(4096):
        client.write(b"x" * 65536)


@line("flood-noise", "writes lines that say nothing, without end")
def flood_noise(client, order, answer):
    for _ in range(4096):
        client.write(b"noise\n" * 8192)


@line("flood-answers", "answers calls without end that nobody made", codes=ANY)
def flood_answers(client, order, answer):
    for n in range(500):
        client.write(b"".join(b'{"id":%d,"result":null}\n' % (1000 + n * 1000 + k) for k in range(1000)))


@line("flood-events", "reports events without end")
def flood_events(client, order, answer):
    for _ in range(500):
        client.write(b'{"event":"selectionDidChange","data":{},"subscription":1}\n' * 1000)


@line("flood-states", "reports states without end")
def flood_states(client, order, answer):
    for _ in range(500):
        client.write(b'{"state":"connected"}\n{"state":"disconnected"}\n' * 1000)


@kind("line-before-start", CLIENTS, "start", "writes a flood before it reads a call", codes=ANY)
def before_start(client):
    for _ in range(200):
        client.write(b'{"id":1,"result":null}\n\xff\x00\x1b[2J\n' * 1000)


@kind("line-stdin-closed", CLIENTS, "start", "closes its stdin, and lives on")
def stdin_closed(client):
    os.close(0)
    time.sleep(120)


@kind("line-stdin-unread", CLIENTS, "start", "reads nothing from its stdin")
def stdin_unread(client):
    time.sleep(120)


@kind("line-lives-on", CLIENTS, "start", "lives on after it was told to end", codes={CONFORMS}, bound=60)
def lives_on(client):
    client.leave = lambda: time.sleep(120)


writes(
    "twice",
    "answers each call twice, in two ways",
    lambda n, answer: sound(answer) + sound({"id": n, "error": {"message": "no"}}),
    codes=ANY,
)
writes("wrong-id", "answers with ids that nobody used", lambda n, answer: sound({**answer, "id": n + 1000}))
writes(
    "id-types",
    "answers with ids of every type",
    lambda n, answer: b"".join(sound({**answer, "id": i}) for i in (str(n), n + 0.5, None, [n], {}, -n, 10**30)),
)
writes(
    "id-fraction", "answers with its id as a fraction", lambda n, answer: sound({**answer, "id": float(n)}), codes=ANY
)
writes(
    "everything",
    "answers with a result, an error and that it is not supported at once",
    lambda n, answer: sound(
        {
            "id": n,
            "result": 1,
            "error": {"message": "no"},
            "unsupported": True,
            "event": "x",
            "state": "connected",
            "reset": True,
        }
    ),
    codes=ANY,
)
writes("no-json", "answers with words", lambda n, answer: b"done!\n")
writes("blank", "answers with an empty line", lambda n, answer: b"\n\r\n \n")
writes(
    "error-odd",
    "answers with errors of every type",
    lambda n, answer: sound({"id": n, "error": [1]}) + sound({"id": n, "error": None}),
    codes=ANY,
)
writes(
    "controls",
    "answers with text that has escapes and NULs",
    lambda n, answer: b"\x1b[2J\x00\xff\n"
    + sound({"id": n, "error": {"message": "\x1b[2J\x00\u202e", "code": "\x1b[2J"}}),
)
writes(
    "events-odd",
    "reports events of every type before its answer",
    lambda n, answer: b"".join(
        sound({"event": e, "data": d, "subscription": d}) for e in ("x", 1, None, []) for d in (None, 1, "x", [])
    )
    + sound(answer),
    codes=ANY,
)


def of_document(document):
    @line(
        f"json-{document.name}",
        f"answers with lines whose JSON {document.about}",
        codes=ANY,
        timeout="3s",
        **bounds(document),
    )
    def act(client, order, answer):
        client.write(document.write(answer) + b"\n")


for one in DOCUMENTS:
    of_document(one)
