"""How cost and memory of mocks grow with sessions, connections and the size of messages."""

from measure.figures import Table, growth, middle, show

from . import row
from .mocks import TOKEN, flood


@row("connections", "Many sessions and connections")
def connections(context):
    """A mock with sessions, each created by a request, and event streams, each with one prompt of 100 words after another. The memory
    is the most that a mock took which was started anew: with the sessions alone, with one prompt for each stream, and with ten. It
    is flat if ten prompts take no more than one. And `ping` over more and more WebSockets."""
    return [streams(context), pings(context)]


def streams(context):
    """Sessions and event streams on one mock."""
    script = flood(context, 100)
    memories = [f"memory: {one}" for one in ("sessions", "one prompt", "ten prompts")]
    table = Table("sessions", "streams", "opened in", "events", "processor time for one", *memories)
    sizes, spent = [(10, 1), (100, 10)] if context.quick else [(100, 10), (1000, 100), (10_000, 1000)], []
    for sessions, count in sizes:
        peaks = []
        for followed, passes in ((0, 0), (count, 1), (count, 10)):
            server = context.mock("amplifier-server", "--script", script)
            asked = ("stream", "--port", server.port, "--deltas", 100, "--pid", server.pid)
            run = context.ask(*asked, "--sessions", sessions, "--streams", followed, "--passes", passes)
            peaks.append(server.stop())
            context.stop(server)
        rates = [one["rate"] for one in run["passes"]]
        busy = [one["processor"] / one["count"] for one in run["passes"]]
        table.row(
            sessions,
            count,
            show([run["opened"]], "s"),
            show(rates, "/s"),
            show(busy, "µs"),
            *[show([peak], "MB") for peak in peaks],
        )
        spent.append((count, count * middle(busy)))
    table.note(f"Growth of the processor time with the number of streams: {growth(*zip(*spent), 'one event')}.")
    return table


def pings(context):
    """Round trips over more and more WebSockets, and the memory that they take."""
    sizes, messages = [1, 10, 100] if context.quick else [5, 50, 500], context.fewer(10_000, 1000)
    table = Table("WebSockets", "plain server", "`mock amp-server`", "memory: plain server", "mock")
    for size in sizes:
        rates, peaks = {"bare": [], "mock": []}, {"bare": [], "mock": []}
        for _ in range(max(2, context.repeat // 2)):
            for who, start in (
                ("bare", lambda: context.serve(context.bare, "amp")),
                ("mock", lambda: context.mock("amp-server", "--token", TOKEN)),
            ):
                server = start()
                passes = context.ask(
                    "ping", "--port", server.port, "--token", TOKEN, "--connections", size, "--passes", messages
                )
                rates[who].append(passes[0]["rate"])
                peaks[who].append(server.memory())
                context.stop(server)
        table.row(
            size,
            show(rates["bare"], "/s"),
            show(rates["mock"], "/s"),
            show([max(peaks["bare"])], "MB"),
            show([max(peaks["mock"])], "MB"),
        )
    return table


@row("sizes", "Large messages")
def sizes(context):
    """Round trips of `ping` over one WebSocket with messages of more and more bytes: a plain server, the mock, and the mock
    with a trace."""
    table = Table("bytes", "plain server", "`mock amp-server`", "with a trace", "memory: mock", "with a trace")
    lengths = [1000, 10_000, 100_000] if context.quick else [1000, 10_000, 100_000, 1_000_000]
    grown = []
    for length in lengths:
        count = max(10, min(1000, context.fewer(20_000_000, 1_000_000) // length))
        found, peaks = {"bare": [], "mock": [], "trace": []}, {"bare": [], "mock": [], "trace": []}
        for _ in range(context.repeat):
            for who in found:
                trace = ["--trace", context.file("size.trace")] if who == "trace" else []
                server = (
                    context.serve(context.bare, "amp")
                    if who == "bare"
                    else context.mock("amp-server", "--token", TOKEN, *trace)
                )
                asked = (
                    "--targets",
                    f"one={server.port}",
                    "--transport",
                    "ws",
                    "--token",
                    TOKEN,
                    "--size",
                    length,
                    "--round-trips",
                    count,
                )
                found[who].append(context.ask("round", *asked)["one"]["p50"])
                peaks[who].append(server.memory())
                context.stop(server)
        table.row(
            length,
            *[show(found[who], "µs") for who in found],
            *[show([max(peaks[who])], "MB") for who in ("mock", "trace")],
        )
        grown.append((length, middle(found["mock"]), middle(found["trace"])))
    length, mock, trace = zip(*grown)
    table.note(
        f"Growth of the mock: {growth(length, mock, 'one byte')}; with a trace: {growth(length, trace, 'one byte')}."
    )
    return [table]
