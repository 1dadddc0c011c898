"""Event streams (server-sent events) that are wrong, endless or never end."""

import os
import time

from .documents import DOCUMENTS, bounds
from .kind import CONFORMS, INCOMPLETE, UNREACHED, VIOLATED, kind

ROLES = ("amplifier-server",)
ANY = {CONFORMS, VIOLATED, UNREACHED, INCOMPLETE}
EVENT = b'data: {"event":"session:start","data":{}}\n\n'


def stream(name, about, **more):
    return kind(
        f"sse-{name}",
        ROLES,
        "stream",
        about,
        **{"traffic": "stream", "accused": ("stream/*", "events/*", "robustness/alive"), **more},
    )


def flood(name, about, piece, before=b""):
    @stream(name, about)
    def act(wire):
        wire.send(before)
        wire.flood(piece)


@stream("silent", "has no event")
def silent(wire):
    wire.drain()


@stream("hang-in-event", "hangs in the middle of an event")
def hang_in_event(wire):
    wire.send(EVENT[:-9])
    wire.drain()


@stream("cut-in-event", "is cut in the middle of an event")
def cut_in_event(wire):
    wire.send(EVENT[:-9])
    wire.reset()


@stream("ends", "ends at once")
def ends(wire):
    pass


@stream("slow", "comes one byte a second")
def slow(wire):
    wire.drip(EVENT, 1)


@stream("exits", "ends with its process")
def exits(wire):
    os._exit(9)


@stream("random", "is random bytes")
def random(wire):
    wire.send(os.urandom(1 << 20))
    time.sleep(1)


@stream("not-utf-8", "is no UTF-8, with NULs and escapes")
def not_utf_8(wire):
    wire.send(b'data: "\xff\xfe\x00\x1b[2J"\n\nid: \x00\nevent: \xff\ndata: x\n\n')
    time.sleep(1)


@stream("retry", "asks for times between connections that no number can hold")
def retry(wire):
    wire.send(b"retry: " + b"9" * 5000 + b"\nretry: -1\nid: " + b"i" * 500_000 + b"\n" + EVENT)
    wire.drain()


flood("flood-events", "has events without end", EVENT * 1024)
flood("flood-large", "has events of 1 MB without end", b'data: "' + b"x" * (1 << 20) + b'"\n\n')
flood("flood-comments", "has comments without end", b":\n" * 32768)
flood("flood-blank", "has empty lines without end", b"\n" * 65536)
flood("flood-fields", "has fields that nobody knows without end", b"abuse: 1\n" * 8192)
flood("endless-line", "has a line without end", b"x" * 65536, b"data: ")
flood("endless-data", "has an event of lines without end", b"data: x\n" * 8192)
flood("endless-comment", "has a comment without end", b"x" * 65536, b":")
flood("endless-name", "has an event with a name without end", b"x" * 65536, b"event: ")
flood("endless-field", "has a field with a name without end", b"x" * 65536)
flood("endless-cr", "has CRs without end", b"\r" * 65536)


def of_document(document):
    @kind(
        f"sse-json-{document.name}",
        ROLES,
        "event",
        f"has events whose JSON {document.about}",
        codes=ANY,
        timeout="3s",
        **bounds(document),
        traffic="stream",
    )
    def write(value):
        return document.write(value)


for one in DOCUMENTS:
    of_document(one)
