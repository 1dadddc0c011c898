"""A second reader of WebSocket bytes, written from RFC 6455 and RFC 7692 alone: the messages, and what is wrong."""

import struct
import zlib

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
# Codes that an endpoint may send (RFC 6455 section 7.4 and the registry that it sets up).
MAY_BE_SENT = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014}


class Reading:
    """One direction of a connection: `messages` are pairs of whether it is binary, and its bytes; `faults` are names."""

    def __init__(self, data, from_client, inflate=None):
        self.messages, self.faults, self.opcodes = [], set(), []
        self.from_client = from_client
        self.inflate = inflate
        self.open = None
        self.closed = False
        rest = memoryview(data)
        while len(rest) >= 2:
            size = self.frame(rest)
            if size is None:
                break
            rest = rest[size:]

    def frame(self, data):
        """Reads a frame; returns its size, or nothing if it is incomplete."""
        first, second = data[0], data[1]
        length, at = second & 0x7F, 2
        if length >= 126:
            form = ">H" if length == 126 else ">Q"
            size = struct.calcsize(form)
            if len(data) < at + size:
                return None
            (length,) = struct.unpack_from(form, data, at)
            at += size
            if length < (126 if form == ">H" else 1 << 16):
                self.faults.add("shortest-length")
        masked = bool(second & 0x80)
        key = bytes(data[at : at + 4]) if masked else None
        at += 4 if masked else 0
        if len(data) < at + length:
            return None
        content = unmask(data[at : at + length], key) if key else bytes(data[at : at + length])
        if masked != self.from_client:
            self.faults.add("mask")
        self.take(bool(first & 0x80), first >> 4 & 7, first & 15, content)
        return at + length

    def take(self, fin, rsv, opcode, content):
        """Judges a frame, and joins it to its message."""
        self.opcodes.append(opcode)
        begins = opcode in (TEXT, BINARY)
        compressed = self.inflate is not None and begins and rsv == 4
        if rsv and not compressed:
            self.faults.add("reserved-bits")
        # Section 5.5.1 forbids data after a close frame, not pings.
        if self.closed and opcode in (CONTINUATION, TEXT, BINARY):
            self.faults.add("close-last")
        if opcode in (CLOSE, PING, PONG):
            self.control(fin, opcode, content)
        elif opcode > PONG or opcode in range(3, 8):
            self.faults.add("opcode")
        else:
            self.data(fin, rsv, opcode, content, compressed)

    def control(self, fin, opcode, content):
        """Judges a control frame."""
        if len(content) > 125:
            self.faults.add("control-length")
        if not fin:
            self.faults.add("control-whole")
        if opcode != CLOSE:
            return
        self.closed = True
        if len(content) == 1:
            self.faults.add("close-payload")
        if len(content) >= 2:
            (code,) = struct.unpack(">H", content[:2])
            if code not in MAY_BE_SENT and not 3000 <= code <= 4999:
                self.faults.add("close-code")
            if not is_utf8(content[2:]):
                self.faults.add("close-reason")

    def data(self, fin, rsv, opcode, content, compressed):
        """Judges a data frame, and joins it."""
        if (opcode == CONTINUATION) != (self.open is not None):
            self.faults.add("fragments")
        if opcode != CONTINUATION:
            self.open = [opcode == BINARY, [], compressed, bool(rsv) and not compressed]
        if self.open is None:
            return
        self.open[1].append(content)
        self.open[3] |= opcode == CONTINUATION and bool(rsv)
        if not fin:
            return
        binary, pieces, compressed, broken = self.open
        self.open = None
        message = b"".join(pieces)
        if broken:
            return
        if compressed:
            try:
                message = self.inflate(message)
            except zlib.error:
                self.faults.add("deflate")
                return
        if not binary and not is_utf8(message):
            self.faults.add("utf8")
        self.messages.append((binary, message))


class Inflate:
    """Undoes the compression of one direction (RFC 7692 section 7.2.2)."""

    def __init__(self, keeps_context):
        self.keeps_context = keeps_context
        self.stream = zlib.decompressobj(-15)

    def __call__(self, message):
        plain = self.stream.decompress(message + b"\x00\x00\xff\xff")
        if not self.keeps_context:
            self.stream = zlib.decompressobj(-15)
        return plain


class Connection:
    """Both directions of a connection, from their bytes with the handshake."""

    def __init__(self, to_server, to_client):
        request, _, to_server = bytes(to_server).partition(b"\r\n\r\n")
        response, _, to_client = bytes(to_client).partition(b"\r\n\r\n")
        self.name = name(request)
        self.accepted = response.startswith(b"HTTP/1.1 101")
        extension = header(response, "sec-websocket-extensions") or ""
        words = [word.strip() for word in extension.split(";")]
        self.compressed = words[0] == "permessage-deflate"

        def inflate(end):
            return Inflate(f"{end}_no_context_takeover" not in words) if self.compressed else None

        self.client = Reading(to_server, True, inflate("client"))
        self.server = Reading(to_client, False, inflate("server"))


def name(*heads):
    """What a connection is called: its number, if a relay has given it one, or else the key of its handshake."""
    for key in ("x-connection", "sec-websocket-key"):
        for head in heads:
            if value := header(head, key):
                return value
    return None


def header(head, name):
    """The value of a header; nothing if there is none."""
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.strip().lower() == name:
            return value.strip()
    return None


def unmask(data, key):
    """The bytes without their mask."""
    size = len(data)
    if size == 0:
        return b""
    mask = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")).to_bytes(size, "big")


def is_utf8(data):
    """Whether bytes are UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

