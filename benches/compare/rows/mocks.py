"""The throughput of mocks, beside plain servers with the same answers."""

import os

from measure.figures import Table, goal, middle, ratios, show

from . import row

TOKEN = "compare-token"


class Work:
    """One kind of load: how the two servers are started, and what the loader does."""

    def __init__(self, name, unit, role, bare, options, load):
        self.name, self.unit, self.role, self.bare, self.options, self.load = name, unit, role, bare, options, load


def flood(context, deltas):
    """The script of an agent that answers with so many words."""
    text = f'wirecert: 1\nprompts: [{{ prompt: "^flood", do: [{{ say: {{ text: "word ", times: {deltas} }} }}] }}]\n'
    return context.write(f"flood-{deltas}.yaml", text)


def works(context):
    """What the mocks are loaded with."""
    first, requests = context.fewer(800, 160), context.fewer(8000, 320)
    deltas, messages = context.fewer(5000, 200), context.fewer(16000, 320)
    script = flood(context, deltas)
    answer = context.write("meta.json", '{"result":{"name":"A provider","mentions":{"label":"Search"},"items":{}}}')
    data = context.write(
        "provider.yaml", "wirecert: 1\nmeta: { name: A provider, mentions: { label: Search }, items: {} }\n"
    )
    meta = ("--method", "POST", "--path", "/", "--body", '{"method":"meta","params":{}}')
    streams = ("stream", "--deltas", deltas, "--sessions", 4, "--streams", 4, "--passes", 2)
    return [
        Work(
            "HTTP: `GET /health` of `amplifier-server`",
            "requests",
            "amplifier-server",
            ["amplifier"],
            [],
            ("http", "--path", "/health", "--passes", f"{first},{requests}"),
        ),
        Work(
            "HTTP: `meta` of `openctx-provider`",
            "requests",
            "openctx-provider",
            ["openctx", "0", answer],
            ["--data", data],
            ("http", *meta, "--passes", f"{first},{requests}"),
        ),
        Work(
            "event streams of `amplifier-server`",
            "events",
            "amplifier-server",
            ["amplifier", str(deltas)],
            ["--script", script],
            streams,
        ),
        Work(
            "events over WebSockets of `amplifier-server`",
            "messages",
            "amplifier-server",
            ["amplifier", str(deltas)],
            ["--script", script],
            (*streams, "--transport", "ws"),
        ),
        Work(
            "WebSockets: `ping` of `amp-server`",
            "responses",
            "amp-server",
            ["amp"],
            ["--token", TOKEN],
            ("ping", "--token", TOKEN, "--passes", f"{first},{messages}"),
        ),
    ]


def loaded(context, work, server):
    """Loads a server; gives what the first pass and the second found."""
    found = context.ask(*work.load, "--port", server.port, "--pid", server.pid)
    context.stop(server)
    return found["passes"] if isinstance(found, dict) else found


@row("mocks", "Mocks under load")
def mocks(context):
    """The mocks of wirecert and plain servers with the same answers, which keep no rules and record nothing (hyper, tokio-tungstenite),
    loaded by the same program over the same number of connections (HTTP and `ping`: 16, one request at a time on each;
    events: four streams). Recording is `--trace FILE`. A server is started anew for each measurement: *first* is
    the first pass after its start, the other columns are the second pass. The processor time is that of the server alone; it
    depends less on what else the machine does."""
    speed = Table(
        "what",
        "plain server",
        "mock",
        "of the plain server",
        "goal",
        "mock with a trace",
        "of the plain server",
        "goal",
    )
    cost = Table(
        "what, for one",
        "plain server",
        "mock",
        "mock with a trace",
        "first: plain server",
        "first: mock",
        "first: mock with a trace",
    )
    trace = context.file("mock.trace")
    for work in works(context):
        found = {"bare": [], "mock": [], "trace": []}
        for _ in range(context.repeat):
            found["bare"].append(loaded(context, work, context.serve(context.bare, *work.bare)))
            found["mock"].append(loaded(context, work, context.mock(work.role, *work.options)))
            found["trace"].append(loaded(context, work, context.mock(work.role, *work.options, "--trace", trace)))
            os.remove(trace)
        rate = {who: [passes[1]["rate"] for passes in all_] for who, all_ in found.items()}
        busy = {who: [p[1]["processor"] / p[1]["count"] for p in all_] for who, all_ in found.items()}
        early = {who: [p[0]["processor"] / p[0]["count"] for p in all_] for who, all_ in found.items()}
        off, on = ratios(rate["mock"], rate["bare"]), ratios(rate["trace"], rate["bare"])
        speed.row(
            f"{work.name}, {work.unit}",
            show(rate["bare"], "/s"),
            show(rate["mock"], "/s"),
            show(off, "x"),
            goal("≥ 0.8", middle(off), lambda value: value >= 0.8),
            show(rate["trace"], "/s"),
            show(on, "x"),
            goal("≥ 0.6", middle(on), lambda value: value >= 0.6),
        )
        cost.row(work.name, *[show(values[who], "µs") for values in (busy, early) for who in ("bare", "mock", "trace")])
    cost.note("Processor time of the server, divided by the number of requests, events or messages.")
    return [speed, cost]
