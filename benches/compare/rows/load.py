"""How cost and memory of mocks grow with sessions, connections and the size of messages."""

from measure.figures import Table, growth, middle, show

from . import row
from .mocks import TOKEN, flood


@row("connections", "Many sessions and connections")
def connections(context):
    """A mock with sessions, each created by a request, and streams, each with one prompt of 100 words. *Again*: the memory after
    the prompts were sent four times more, with the same streams; flat, if it does not grow with every prompt. And
    `ping` over more and more WebSockets."""
    return [streams(context), pings(context)]


def streams(context):
    """Sessions and event streams on one mock."""
    script = flood(context, 100)
    table = Table(
        "sessions",
        "streams",
        "opened in",
        "events",
        "memory at most",
        "memory now",
        "now, again",
        "memory for one stream",
    )
    sizes = [(10, 1), (100, 10)] if context.quick else [(100, 10), (1000, 100), (10_000, 1000)]
    rates = []
    for sessions, count in sizes:
        server = context.mock("amplifier-server", "--script", script)
        asked = ("stream", "--port", server.port, "--deltas", 100, "--pid", server.pid)
        empty = server.memory("VmRSS")
        run = context.ask(*asked, "--sessions", sessions, "--streams", count, "--passes", 5)
        now, rate = server.memory("VmRSS"), [one["rate"] for one in run["passes"]]
        context.ask(*asked, "--sessions", count, "--streams", count, "--passes", 5)
        again = server.memory("VmRSS")
        table.row(
            sessions,
            count,
            show([run["opened"]], "s"),
            show(rate, "/s"),
            show([server.memory()], "MB"),
            show([now], "MB"),
            show([again], "MB"),
            f"{(now - empty) / count / 1000:.0f} kB",
        )
        rates.append((count, middle([one["seconds"] for one in run["passes"]])))
        context.stop(server)
    table.note(f"Growth of the time with the number of streams: {growth(*zip(*rates), 'one stream')}.")
    return table


def pings(context):
    """Round trips over more and more WebSockets, and the memory that they take."""
    sizes, messages = [1, 10, 100] if context.quick else [10, 100, 1000], context.fewer(10_000, 1000)
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
