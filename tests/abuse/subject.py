#!/usr/bin/env python3
"""A subject that misbehaves: subject.py ROLE KIND, started by wirecert.

It limits what it can take of the machine: memory, the size of files, processor time, and the time that it lives.
"""

import os
import resource
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from kinds import by_name  # noqa: E402
from subjects.client import CLIENTS  # noqa: E402
from subjects.server import SERVERS  # noqa: E402

# Bytes of address space, of a file; seconds of processor time.
LIMITS = {resource.RLIMIT_AS: 2 << 30, resource.RLIMIT_FSIZE: 2 << 40, resource.RLIMIT_CPU: 60, resource.RLIMIT_CORE: 0}


def main():
    role, name = sys.argv[1:3]
    for limit, value in LIMITS.items():
        resource.setrlimit(limit, (value, value))
    # Whatever happens, it is gone after two minutes.
    signal.alarm(120)
    {**SERVERS, **CLIENTS}[role](by_name(name)).run()


main()
