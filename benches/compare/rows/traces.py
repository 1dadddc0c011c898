"""Traces of a million messages: recorded, judged, viewed, turned into scenarios."""

import os

from measure.context import Failed
from measure.figures import Table, goal, growth, middle, show

from . import row
from .proxy import recording

# How many streams the messages of a trace are divided between.
STREAMS = 10
# Bytes.
MAX_MEMORY = 50e6


def record(context, messages, name):
    """Records so many messages of WebSockets between the loader and a plain server; gives time, memory and the events."""
    trace = context.file(name)
    plain = context.serve(context.bare, "amplifier", str(messages // STREAMS))
    recorder = recording(context, plain.port, trace)
    run = context.ask(
        "stream",
        "--port",
        recorder.port,
        "--transport",
        "ws",
        "--deltas",
        messages // STREAMS,
        "--sessions",
        STREAMS,
        "--streams",
        STREAMS,
        "--pid",
        recorder.pid,
    )
    peak = recorder.stop()
    context.stop(recorder, plain)
    with open(trace, "rb") as file:
        events = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 2
    one = run["passes"][0]
    return {"seconds": one["seconds"], "processor": one["processor"], "peak": peak, "events": events, "trace": trace}


def commands(context, trace):
    """What is done with a trace: name, command, exit codes, and the file that is written."""
    page, har, report = (context.file(name) for name in ("trace.html", "trace.har", "report.html"))
    scenario = context.file("scenario.yaml")
    wirecert = context.wirecert
    return [
        ("check", [wirecert, "check", trace], (0,), None),
        ("check --report html", [wirecert, "check", trace, "--report", f"html={report}"], (0,), report),
        ("view", [wirecert, "view", trace], (0,), None),
        ("view --html", [wirecert, "view", trace, "--html", page], (0,), page),
        ("view --har", [wirecert, "view", trace, "--har", har], (0,), har),
        (
            "scenario --as client",
            [wirecert, "scenario", trace, "--as", "client", "--observed", "--out", scenario],
            (0, 2),
            None,
        ),
    ]


@row("traces", "Long traces")
def traces(context):
    """A recording of events of `amplifier-server` over ten WebSockets, and what is done with the trace. Each message is two events
    of a trace: the frame, and the message. The sizes are ×1, ×10 and ×100. The largest is measured three times, the others
    as often as everything. The memory is the most that the program took. `scenario` refuses a trace of more than 2000 steps, which
    it only knows when it has read it: it is measured all the same."""
    sizes = [500, 1000, 2000] if context.quick else [5_000, 50_000, 500_000]
    found, events = {}, []
    for size in sizes:
        times = 3 if size == sizes[-1] else context.repeat
        recorded = [record(context, size, f"trace-{size}") for _ in range(min(times, 3))]
        trace, count = recorded[-1]["trace"], recorded[-1]["events"]
        events.append(count)
        found.setdefault("record", []).append((recorded, None))
        for name, command, codes, written in commands(context, trace):
            runs = []
            for _ in range(times):
                try:
                    runs.append(context.time(*command, codes=codes))
                except Failed as failure:
                    found.setdefault(name, []).append(([], str(failure)))
                    break
            else:
                length = os.path.getsize(written) if written else None
                found.setdefault(name, []).append((runs, length))
                if written:
                    os.remove(written)
        os.remove(trace)
    return [table(events, found)]


def table(events, found):
    """A row for each command, with a time for each size."""
    head = [f"{count:,} events".replace(",", "\u202f") for count in events]
    out = Table("", *head, "goal", "processor time", "growth of that", *[f"memory: {one}" for one in head], "goal")
    for name, runs in found.items():
        if any(not run for run, _ in runs):
            out.row(f"`{name}`", *["not measured"] * (2 * len(events) + 4))
            out.note(f"`{name}`: " + next(text for run, text in runs if not run).replace("|", "\\|"))
            continue
        seconds, busy = ([[one[key] for one in run] for run, _ in runs] for key in ("seconds", "processor"))
        peaks = [max(one["peak"] for one in run) for run, _ in runs]
        out.row(
            f"`{name}`",
            *[show(one, "s") for one in seconds],
            goal("< 5 s", middle(seconds[-1]), lambda value: value < 5),
            show(busy[-1], "s"),
            growth(events, [middle(one) for one in busy], "one event"),
            *[show([peak], "MB") for peak in peaks],
            goal("< 50 MB", peaks[-1], lambda value: value < MAX_MEMORY),
        )
    return out
