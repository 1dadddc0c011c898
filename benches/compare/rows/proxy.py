"""The recording proxy, beside no proxy and mitmproxy."""

import os
import socket
import subprocess
import time

from measure.context import Failed, Server
from measure.figures import Table, goal, middle, ratios, show

from . import row

# Seconds until mitmproxy accepts connections.
START = 30


class Mitmproxy:
    """mitmdump as a reverse proxy that writes its flows to a file. It prints no port, so it is given one."""

    def __init__(self, context, port):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.flows = context.file("flows")
        command = [
            context.mitmdump,
            "--quiet",
            "--mode",
            f"reverse:http://127.0.0.1:{port}",
            "--listen-host",
            "127.0.0.1",
        ]
        command += [
            "--listen-port",
            str(self.port),
            "--save-stream-file",
            self.flows,
            "--set",
            f"confdir={context.file('mitm')}",
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.pid = self.process.pid
        context.running.append(self)
        until = time.monotonic() + START
        while not accepts(self.port):
            if time.monotonic() > until or self.process.poll() is not None:
                raise Failed("mitmproxy did not start")
            time.sleep(0.05)

    memory, stop = Server.memory, Server.stop


def accepts(port):
    """Whether a port accepts connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def recording(context, port, trace):
    """A recording in front of a server."""
    return context.serve(
        context.wirecert,
        "record",
        "amplifier",
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        f"http://127.0.0.1:{port}",
        "--out",
        trace,
    )


@row("proxy", "The recording proxy")
def proxy(context):
    """`wirecert record` between a client and a plain server (hyper), beside mitmproxy as a reverse proxy that writes its flows to a
    file. Round trips (`GET /health`) go directly, through wirecert and through mitmproxy in turns, one at a time; the first
    tenth is not counted. What is added is the difference to direct round trips of the same run. Throughput: 16
    connections, one request at a time on each; of events, four streams. mitmproxy keeps back an event stream that it is not told to
    pass on, so it has no row there."""
    plain = context.serve(context.bare, "amplifier", str(context.fewer(5000, 200)))
    trace = context.file("proxy.trace")
    record = recording(context, plain.port, trace)
    mitmproxy = Mitmproxy(context, plain.port) if context.mitmdump else None
    return [latency(context, plain, record, mitmproxy), throughput(context, plain, record, mitmproxy, trace)]


def latency(context, plain, record, mitmproxy):
    """How much longer a round trip takes."""
    targets = {"direct": plain, "wirecert": record, **({"mitmproxy": mitmproxy} if mitmproxy else {})}
    named = ",".join(f"{name}={server.port}" for name, server in targets.items())
    found = []
    for _ in range(context.repeat):
        found.append(
            context.ask("round", "--targets", named, "--path", "/health", "--round-trips", context.fewer(500, 50))
        )
    table = Table("a round trip", "direct", "wirecert adds", "goal", "mitmproxy adds")
    for name, key, limit in (("median", "p50", 0.2e-3), ("99th percentile", "p99", 1e-3)):
        added = {who: [run[who][key] - run["direct"][key] for run in found] for who in targets}
        table.row(
            name,
            show([run["direct"][key] for run in found], "ms"),
            show(added["wirecert"], "ms"),
            goal(f"< {limit * 1e3:g} ms", middle(added["wirecert"]), lambda value, limit=limit: value < limit),
            show(added.get("mitmproxy", []), "ms"),
        )
    return table


def throughput(context, plain, record, mitmproxy, trace):
    """How much passes in a second."""
    table = Table("throughput", "direct", "wirecert", "mitmproxy", "of direct", "of mitmproxy", "goal")
    requests, found = context.fewer(8000, 320), {"direct": [], "wirecert": [], "mitmproxy": []}
    for _ in range(context.repeat):
        for who, server, count in (
            ("direct", plain, requests),
            ("wirecert", record, requests),
            ("mitmproxy", mitmproxy, requests // 10),
        ):
            if server:
                passes = context.ask(
                    "http", "--port", server.port, "--path", "/health", "--passes", f"{count // 10},{count}"
                )
                found[who].append(passes[1]["rate"])
    times = ratios(found["wirecert"], found["mitmproxy"])
    table.row(
        "requests",
        *[show(found[who], "/s") for who in found],
        show(ratios(found["wirecert"], found["direct"]), "x"),
        show(times, "x"),
        goal("10 × mitmproxy", middle(times), lambda value: value >= 10) if times else "no rival",
    )
    for transport, name in (("sse", "events of event streams"), ("ws", "messages of WebSockets")):
        found = {"direct": [], "wirecert": []}
        for _ in range(context.repeat):
            for who, server in (("direct", plain), ("wirecert", record)):
                run = context.ask(
                    "stream",
                    "--port",
                    server.port,
                    "--transport",
                    transport,
                    "--deltas",
                    context.fewer(5000, 200),
                    "--sessions",
                    4,
                    "--streams",
                    4,
                    "--passes",
                    2,
                )
                found[who].append(run["passes"][1]["rate"])
        table.row(
            name,
            show(found["direct"], "/s"),
            show(found["wirecert"], "/s"),
            "–",
            show(ratios(found["wirecert"], found["direct"]), "x"),
            "–",
            "–",
        )
    peak = record.memory()
    context.stop(record)
    table.note(
        f"The recording took {show([peak], 'MB')} of memory at most, and wrote {show([os.path.getsize(trace)], 'MB')}."
    )
    return table
