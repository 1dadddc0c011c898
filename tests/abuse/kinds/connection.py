"""What a subject does with a TCP connection, before and beside HTTP."""

import os
import signal
import time

from .kind import BROKEN_HTTP, CLIENTS, CONFORMS, INCOMPLETE, SERVERS, UNREACHED, VIOLATED, kind

BOTH = SERVERS + CLIENTS


@kind(
    "hang-after-accept",
    BOTH,
    "accept",
    "accepts or opens a connection, and neither reads nor writes",
    accused=BROKEN_HTTP,
)
def hang_after_accept(wire):
    wire.hold()


@kind("reads-only", BOTH, "accept", "reads all that comes, and never writes", accused=BROKEN_HTTP)
def reads_only(wire):
    wire.drain()


@kind("closes-at-once", BOTH, "accept", "closes each connection at once", accused=BROKEN_HTTP)
def closes_at_once(wire):
    wire.close()


@kind("resets-at-once", BOTH, "accept", "cuts each connection at once with a RST", accused=BROKEN_HTTP)
def resets_at_once(wire):
    wire.reset()


@kind("half-open", BOTH, "accept", "ends its own direction at once, and reads on", accused=BROKEN_HTTP)
def half_open(wire):
    wire.finish()
    wire.drain()


@kind("noise", BOTH, "accept", "sends random bytes without end", accused=BROKEN_HTTP)
def noise(wire):
    wire.flood(os.urandom(65536))


@kind("zeros", BOTH, "accept", "sends zeros without end, and reads nothing", accused=BROKEN_HTTP)
def zeros(wire):
    wire.flood(bytes(65536))


@kind("tls", BOTH, "accept", "speaks TLS", accused=BROKEN_HTTP)
def tls(wire):
    wire.send(bytes.fromhex("16030100050100000100") + bytes.fromhex("1503030002022816030300"))
    wire.drain()


@kind("http-2", BOTH, "accept", "speaks HTTP/2 with prior knowledge", accused=BROKEN_HTTP)
def http_2(wire):
    wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000"))
    wire.drain()


@kind("ssh", BOTH, "accept", "speaks SSH", accused=BROKEN_HTTP)
def ssh(wire):
    wire.send(b"SSH-2.0-OpenSSH_9.6\r\n")
    wire.drain()


@kind("one-byte", BOTH, "accept", "sends one byte of a head a second", accused=BROKEN_HTTP)
def one_byte(wire):
    wire.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1)


@kind("unasked", SERVERS, "accept", "responds before it is asked, a thousand times")
def unasked(wire):
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" * 1000)
    wire.drain()


@kind("crash-on-accept", BOTH, "accept", "exits when a connection opens", accused=BROKEN_HTTP)
def crash_on_accept(wire):
    os._exit(7)


@kind("killed-on-request", BOTH, "http", "dies of SIGKILL in the place of an HTTP message", accused=BROKEN_HTTP)
def killed_on_request(wire, start, headers, body):
    os.kill(os.getpid(), signal.SIGKILL)


@kind(
    "stopped-on-request", BOTH, "http", "stops itself with SIGSTOP in the place of an HTTP message", accused=BROKEN_HTTP
)
def stopped_on_request(wire, start, headers, body):
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(60)


@kind(
    "flood-connections",
    CLIENTS,
    "accept",
    "opens 500 connections for each that it needs, and keeps them",
    codes={CONFORMS, VIOLATED, UNREACHED, INCOMPLETE},
    accused=BROKEN_HTTP,
)
def flood_connections(wire):
    import socket

    held = []
    for _ in range(500):
        held.append(socket.create_connection(wire.sock.getpeername(), timeout=2))
    wire.held = held
    time.sleep(3)
