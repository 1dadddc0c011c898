"""Kinds that are played against the whole suite of a role, not a few scenarios of it."""

import os
import random

from .kind import CLIENTS, SERVERS, UNREACHED, VIOLATED, kind

WHOLE = {"suite": "", "bound": 600, "codes": {VIOLATED, UNREACHED}}


@kind(
    "suite-hang", SERVERS + CLIENTS, "http", "answers and asks nothing, for the whole suite", timeout="100ms", **WHOLE
)
def suite_hang(wire, start, headers, body):
    wire.drain()


@kind("suite-crash", SERVERS, "http", "exits at every HTTP message, for the whole suite", timeout="100ms", **WHOLE)
def suite_crash(wire, start, headers, body):
    os._exit(7)


@kind(
    "suite-noise",
    SERVERS + CLIENTS,
    "http",
    "sends random bytes in the place of every HTTP message, for the whole suite",
    timeout="100ms",
    **WHOLE
)
def suite_noise(wire, start, headers, body):
    wire.send(os.urandom(random.randrange(4096)))
