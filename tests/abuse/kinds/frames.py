"""WebSocket frames that are wrong, endless or never end."""

import os
import time
import zlib

from subjects.wire import frame

from .documents import DOCUMENTS, bounds
from .kind import CONFORMS, INCOMPLETE, KNOWN, UNREACHED, VIOLATED, WEBSOCKET, kind

ANY = {CONFORMS, VIOLATED, UNREACHED, INCOMPLETE}


# 4 MB of zeros, deflated.
BOMB = zlib.compress(bytes(4 << 20), 1)[2:-4]


# What may be violated, apart from what is only a consequence.
FRAMES = (
    "framing/*",
    "envelope/*",
    "connection/token-right",
    "websocket/*",
    "events/*",
    "robustness/*alive",
    "ping/client-*",
)


def frames(name, about, **more):
    return kind(f"ws-{name}", WEBSOCKET, "frame", about, **{"traffic": "socket", "accused": FRAMES, **more})


def sends(name, about, make, **more):
    """A kind that sends what `make` gives for a text and whether to mask, and then waits."""

    @frames(name, about, **more)
    def act(wire, text, masked):
        wire.send(make(text, masked))
        time.sleep(0.6)


@frames("silent", "sends no message")
def silent(wire, text, masked):
    pass


@frames("hang-in-frame", "hangs in the middle of a frame")
def hang_in_frame(wire, text, masked):
    wire.send(frame(text, masked)[:-3])
    wire.hold(20)


@frames("hang-in-head", "hangs in the middle of the head of a frame")
def hang_in_head(wire, text, masked):
    wire.send(frame(text * 10, masked)[:1])
    wire.hold(20)


@frames("cut-in-frame", "cuts the connection in the middle of a frame")
def cut_in_frame(wire, text, masked):
    wire.send(frame(text, masked)[:-3])
    wire.reset()


@frames("cut", "cuts the connection in the place of a message")
def cut(wire, text, masked):
    wire.reset()


@frames("byte-by-byte", "sends a message byte by byte, slowly", codes=ANY, timeout="8s")
def byte_by_byte(wire, text, masked):
    wire.drip(frame(text, masked), 0.02)


@frames("announced-10-gb", "announces a message of 10 GB, and sends 1 MB of it")
def announced_10_gb(wire, text, masked):
    wire.send(frame(b"x" * (1 << 20), masked, length=10 << 30))
    wire.hold(20)


@frames("announced-max", "announces a message of 2^64 - 1 bytes")
def announced_max(wire, text, masked):
    wire.send(frame(text, masked, length=(1 << 64) - 1))
    wire.hold(20)


@frames("sent-10-gb", "sends a message of 10 GB, as much of it as is read", **KNOWN)
def sent_10_gb(wire, text, masked):
    wire.send(frame(b"", masked, length=10 << 30))
    wire.flood(b"x" * (1 << 20))


@frames("endless-fragments", "sends fragments of a message without end", **KNOWN)
def endless_fragments(wire, text, masked):
    wire.send(frame(b"x", masked, fin=False))
    wire.flood(frame(b"x" * 60_000, masked, opcode=0, fin=False))


@frames("empty-fragments", "sends empty fragments without end")
def empty_fragments(wire, text, masked):
    wire.send(frame(b"x", masked, fin=False))
    wire.flood(frame(b"", masked, opcode=0, fin=False) * 8192)


@frames("flood-messages", "sends small messages without end")
def flood_messages(wire, text, masked):
    wire.flood(frame(b"{}", masked) * 8192)


@frames("flood-large", "sends messages of 1 MB without end", **KNOWN)
def flood_large(wire, text, masked):
    wire.flood(frame(b'"' + b"x" * (1 << 20) + b'"', masked))


@frames("flood-pings", "sends pings without end, and reads no pong")
def flood_pings(wire, text, masked):
    wire.flood(frame(b"x" * 125, masked, opcode=9) * 2048)


@frames("flood-pongs", "sends pongs without end")
def flood_pongs(wire, text, masked):
    wire.flood(frame(b"", masked, opcode=10) * 8192)


@frames("flood-after-close", "sends messages without end after its close frame")
def flood_after_close(wire, text, masked):
    wire.send(frame(b"\x03\xe8", masked, opcode=8))
    wire.flood(frame(text, masked) * 1024)


@frames("flood-closes", "sends close frames without end")
def flood_closes(wire, text, masked):
    wire.flood(frame(b"\x03\xe8", masked, opcode=8) * 8192)


sends("wrong-mask", "masks as a server, and does not as a client", lambda text, masked: frame(text, not masked))
sends("binary", "sends messages as binary data", lambda text, masked: frame(text, masked, opcode=2))
sends("reserved-bits", "sets the reserved bits", lambda text, masked: frame(text, masked, reserved=7))
sends(
    "opcodes",
    "sends frames of all opcodes that are not defined",
    lambda text, masked: b"".join(frame(text, masked, opcode=n) for n in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)),
)
sends("continuation", "continues a message that has not begun", lambda text, masked: frame(text, masked, opcode=0))
sends(
    "interleaved",
    "begins a message within another",
    lambda text, masked: frame(text, masked, fin=False) + frame(text, masked),
)
sends("long-ping", "sends a ping of 64 KB", lambda text, masked: frame(b"x" * 65_536, masked, opcode=9))
sends(
    "long-close",
    "sends a close frame of 64 KB",
    lambda text, masked: frame(b"\x03\xe8" + b"x" * 65_536, masked, opcode=8),
)
sends("cut-ping", "sends a ping in fragments", lambda text, masked: frame(b"x", masked, opcode=9, fin=False))
sends("close-byte", "sends a close frame of one byte", lambda text, masked: frame(b"\x03", masked, opcode=8))
sends(
    "close-codes", "closes with a code that may not be sent", lambda text, masked: frame(b"\x03\xed", masked, opcode=8)
)
sends(
    "close-reason",
    "closes with a reason that is no UTF-8, with escapes",
    lambda text, masked: frame(b"\x03\xe8\xff\x1b[2J\x00", masked, opcode=8),
    codes=ANY,
)
sends("long-form", "writes a small length in eight bytes", lambda text, masked: long_form(text, masked))
sends(
    "not-utf-8", "sends text that is no UTF-8", lambda text, masked: frame(text[:-1] + b"\xff\xfe\xed\xa0\x80", masked)
)
sends("split-utf-8", "ends a message within a character", lambda text, masked: frame(b'"\xf0\x9f\x98', masked))
sends(
    "deflated", "sends a deflated bomb, which was not agreed on", lambda text, masked: frame(BOMB, masked, reserved=4)
)
sends("random", "sends random bytes in the place of frames", lambda text, masked: os.urandom(65_536))
sends(
    "http",
    "speaks HTTP again after the handshake",
    lambda text, masked: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
)


def long_form(text, masked):
    head = bytes([0x81, 127 | (0x80 if masked else 0)]) + (2).to_bytes(8, "big")
    return head + (b"\0\0\0\0" if masked else b"") + b"{}"


@kind("ws-exit", WEBSOCKET, "frame", "exits in the place of a message", traffic="socket")
def exits(wire, text, masked):
    os._exit(0)


def of_document(document):
    @kind(
        f"ws-json-{document.name}",
        ("amplifier-server", "amplifier-client"),
        "json",
        f"sends WebSocket messages whose JSON {document.about}",
        codes=ANY,
        timeout="3s",
        **bounds(document),
        traffic="socket",
    )
    def write(value):
        return document.write(value)


for one in DOCUMENTS:
    of_document(one)
