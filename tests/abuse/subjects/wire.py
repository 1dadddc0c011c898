"""`Wire`, a connection of a subject: HTTP heads, WebSocket frames, and ways to misbehave on it."""

import base64
import hashlib
import os
import socket
import struct
import time

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Wire:
    """A TCP connection. Every method raises `OSError` or `EOFError` when the other end is gone."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # Reading

    def exactly(self, count):
        """The next `count` bytes."""
        while len(self.buffer) < count:
            self._more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def until(self, mark):
        """The bytes up to this mark, without it."""
        while mark not in self.buffer:
            self._more()
        data, self.buffer = self.buffer.split(mark, 1)
        return data

    def _more(self):
        more = self.sock.recv(65536)
        if not more:
            raise EOFError
        self.buffer += more

    def message(self):
        """An HTTP message: its start line, its headers with names in lower case, its body."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if "chunked" in headers.get("transfer-encoding", ""):
            body = b""
            while True:
                size = int(self.until(b"\r\n").split(b";")[0], 16)
                if size == 0:
                    while self.until(b"\r\n"):
                        pass
                    return lines[0], headers, body
                body += self.exactly(size)
                self.exactly(2)
        return lines[0], headers, self.exactly(int(headers.get("content-length", 0)))

    def frame(self):
        """A WebSocket frame: its opcode and its payload."""
        first, second = self.exactly(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack(">H", self.exactly(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.exactly(8))
        mask = self.exactly(4) if second & 0x80 else b"\0\0\0\0"
        payload = self.exactly(length)
        return first & 0x0F, apply(mask, payload)

    # Writing

    def send(self, data):
        self.sock.sendall(data)

    def flood(self, piece, total=10 << 30, seconds=20):
        """Sends the piece again and again, until `total` bytes, for so long at most."""
        end = time.monotonic() + seconds
        sent = 0
        while sent < total and time.monotonic() < end:
            self.sock.sendall(piece)
            sent += len(piece)

    def drip(self, data, pause, seconds=20):
        """Sends one byte after the other."""
        end = time.monotonic() + seconds
        for byte in data:
            if time.monotonic() > end:
                return
            self.sock.sendall(bytes([byte]))
            time.sleep(pause)

    def hold(self, seconds=60):
        """Keeps the connection, and reads nothing."""
        time.sleep(seconds)

    def drain(self, seconds=60):
        """Keeps the connection, and reads until the other end ends it."""
        self.sock.settimeout(seconds)
        while self.sock.recv(65536):
            pass

    def finish(self):
        """Ends the own direction."""
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Cuts the connection with a RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.sock.close()


def head(start, headers):
    """The bytes of a head."""
    return "".join([start, "\r\n", *[f"{name}: {value}\r\n" for name, value in headers], "\r\n"]).encode("latin-1")


def frame(payload, masked, opcode=1, fin=True, reserved=0, length=None):
    """The bytes of a WebSocket frame; `length` is what its head says, if not the truth."""
    size = len(payload) if length is None else length
    data = bytes([(0x80 if fin else 0) | (reserved << 4) | opcode])
    bit = 0x80 if masked else 0
    if size < 126:
        data += bytes([bit | size])
    elif size < 65536:
        data += bytes([bit | 126]) + struct.pack(">H", size)
    else:
        data += bytes([bit | 127]) + struct.pack(">Q", size)
    if not masked:
        return data + payload
    mask = os.urandom(4)
    return data + mask + apply(mask, payload)


def apply(mask, payload):
    """The payload with this mask put on, or taken off."""
    whole = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(whole, "big") ^ int.from_bytes(payload, "big")).to_bytes(len(payload), "big")


def accept_key(key):
    """The value of `Sec-WebSocket-Accept` for this key."""
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


def fresh_key():
    """A value of `Sec-WebSocket-Key`."""
    return base64.b64encode(os.urandom(16)).decode()
