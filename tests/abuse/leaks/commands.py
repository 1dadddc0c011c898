"""The commands of wirecert that write something, each run where secrets are planted. `COMMANDS` lists them."""

import glob
import json
import os
import re
import signal
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from .site import HERE, SUBJECT, await_line, free_port, shell

REPORTS = "json junit sarif html markdown github tap badge badge-json certificate text".split()
EDITIONS = {"amp": "cli", "openctx": "0.1", "amplifier": "2025-12-09"}
FILTERS = {
    "amp-server": "id(*/ping/echo)|id(*/ping/any-text*)|id(*/envelope/json)",
    "openctx-provider": "id(*/meta/meta)|id(*/meta/extra-params)|id(*/items/*)",
    "amplifier-server": "id(*/health/healthy)|id(*/info/info)|id(*/events/text)|id(*/stream/subscribed)|id(*/websocket/events[text])",
    "amp-client": "id(*/ping/echo[text])|id(*/connection/token-encoded[percent])",
    "openctx-client": "id(*/meta/result)|id(*/envelope/escapes)",
    "amplifier-client": "id(*/catalogs/health)|id(*/websocket/events[text])|id(*/create/life)",
}
# The same with fewer plays.
QUICK = {**FILTERS, "openctx-provider": "id(*/meta/meta)|id(*/items/shown)", "amp-server": "id(*/ping/echo)"}
ORDERS = {
    "amp": ['{"id":1,"call":"ping","params":{"message":"hello"}}', '{"id":2,"call":"readFile","params":{"path":"/no"}}'],
    "openctx": [
        '{"id":1,"call":"meta","params":{},"settings":{}}',
        '{"id":2,"call":"items","params":{"message":"x"},"settings":{}}',
    ],
    "amplifier": [
        '{"id":1,"call":"health","params":{}}',
        '{"id":2,"call":"createSession","params":{"profile":"dev"}}',
        '{"id":3,"call":"info","params":{}}',
    ],
}
ROLES = {
    "amp": ("amp-server", "amp-client"),
    "openctx": ("openctx-provider", "openctx-client"),
    "amplifier": ("amplifier-server", "amplifier-client"),
}
# A scenario that the planting editor fails, with the token in what it gets instead.
FAILING = """wirecert: 1
title: A ping is answered
role: amp-server
edition: cli
steps:
  - connect: {}
  - request: { as: a, method: ping, params: { message: hello } }
  - expect: { response: { to: a, result: { message: hello } }, proves: ping/echo }
"""


def protocol_of(role):
    """The protocol of a role."""
    return role.split("-")[0]


def described(site, role):
    """Writes the description of a subject, and gives its path."""
    base = "openctx-provider" if role == "openctx-module" else "amp-server" if role == "amp-failing" else role
    subject = {
        "name": f"leaks-{role}",
        "role": base,
        "edition": EDITIONS[protocol_of(role)],
        "isolation": "scenario",
        "env": {"PRINTED": site.secrets["env"]},
        "ready": {"within": "5s"},
        "stop": {"within": "300ms"},
        "timeouts": {"longest": "3s"},
    }
    if role == "openctx-module":
        subject["module"] = os.path.join(HERE, "module.mjs")
    else:
        subject["launch"] = [sys.executable, SUBJECT, role, site.secrets["argument"]]
    if base == "openctx-provider":
        settings = {"token": site.secrets["settings"], "public": "known"}
        subject.update(settings=site.write("in/settings.json", json.dumps(settings)), message="hello")
    if base == "amplifier-server":
        subject.update(prompts={"text": "Say two words."}, credentials={"good": "LEAKS_KEY"})
    return site.write(f"in/{role}.yaml", json.dumps(subject, indent=1))


def reports(kinds=REPORTS):
    """The options that ask for these reports."""
    return [word for kind in kinds for word in ("--report", f"{kind}=report.{kind}")]


def certify(site, quick):
    """`certify`, of every role, with every report, traces and snapshots."""
    roles = ["amp-server", "openctx-provider", "openctx-module", "amplifier-server", "amp-failing"]
    roles += [client for _, client in ROLES.values()]
    if not shutil.which("node"):
        roles.remove("openctx-module")
    for role in roles:
        suite = (QUICK if quick else FILTERS).get(role) or QUICK["openctx-provider" if role == "openctx-module" else "amp-server"]
        words = ["certify", "--subject", described(site, role), "--filter", suite, "--trace-dir", "traces", "-vv"]
        words += ["--snapshots", "snapshots", "--timeout", "700ms", "--confirm-time", "1s", "--progress", "lines"]
        site.run("certify", role, [*words, "--run-dir", site.path("runs"), *reports()])
        if role in ("amp-failing", "openctx-module"):
            site.note_sent("certify", *(["lockfile"] if role == "amp-failing" else ["settings"]))
    site.note_sent("certify", "user-env", "project")


def run(site, quick):
    """`run` of a scenario that fails, and of one that does not load."""
    words = ["--subject", described(site, "amp-server"), "--timeout", "700ms", "--run-dir", site.path("runs"), "-vv"]
    site.run("run", "failing", ["run", site.write("in/failing.yaml", FAILING), *words, "--trace-dir", "t", *reports()])
    site.run("run", "broken", ["run", site.write("in/broken.yaml", FAILING + "  - no: {}\n"), *words, *reports()])
    site.note_sent("run", "user-env", "project")


def call(site, quick):
    """`call` of servers that plant nothing but their lockfile, and of ports on which nobody listens."""
    home = site.path("home/call")
    editor, port = site.subject("amp-server", "call", quiet=True, data_home=home)
    site.run("call", "amp", ["call", "amp-server", "ping", "message=hi", "--data-home", home, "-vv"])
    quoted = urllib.parse.quote(site.secrets["lockfile"], safe="")
    for name, place in (("url", port), ("refused", free_port())):
        words = ["call", "amp-server", "ping", "message=hi", "--url", f"ws://127.0.0.1:{place}?auth={quoted}"]
        site.run("call", f"amp-{name}", [*words, "--edition", "cli", "-vv"])
    site.stop(editor)
    provider, port = site.subject("openctx-provider", "call", quiet=True)
    quoted = urllib.parse.quote(site.secrets["url-query"], safe="")
    for name, place in (("url", port), ("refused", free_port())):
        url = f"http://127.0.0.1:{place}/?token={quoted}"
        site.run("call", f"openctx-{name}", ["call", "openctx-provider", "meta", "--url", url, "-vv"])
        password = urllib.parse.quote(site.secrets["url-password"], safe="")
        words = ["call", "openctx-provider", "meta", "--url", f"http://user:{password}@127.0.0.1:{place}/", "-vv"]
        site.run("call", f"openctx-{name}-password", words)
    site.run("call", "openctx-wrong", ["call", "openctx-provider", "met", "--url", url, "-vv"])
    site.stop(provider)
    site.note_sent("call", "url-query", "url-password", "user-env")


def record(site, quick):
    """`record` between clients and servers that both plant secrets."""
    for protocol, (role, client) in ROLES.items():
        home = site.path(f"home/record-{protocol}")
        os.makedirs(home, exist_ok=True)
        server, port = site.subject(role, "record", data_home=home)
        words = ["record", protocol, "--out", "t.trace", "--redact", "customSecret", "--check", "-vv"]
        if protocol == "amp":
            words += ["--data-home", home, "--edition", "cli"]
        else:
            words += ["--upstream", f"http://127.0.0.1:{port}"]
        site.run("record", protocol, [*words, "--", *shell(ORDERS[protocol], client)])
        site.stop(server)
    site.note_sent("record", "user-env")


def mock(site, quick):
    """`mock` of servers with clients that plant secrets, and of clients with servers that do."""
    for protocol, (role, client) in ROLES.items():
        home = site.path(f"home/mock-{protocol}")
        words = ["mock", role, "--trace", "t.trace", "-vv"]
        if protocol == "amp":
            words += ["--data-home", home, "--token", site.secrets["mock-token"]]
            site.note_sent("mock", "mock-token")
        child, folder = site.start("mock", role, words)
        ready = await_line(os.path.join(folder, "stdout"), "\n")
        url = json.loads(ready.splitlines()[0])["url"]
        env = site.environment("mock", WIRECERT_URL=url, AMP_DATA_HOME=home)
        subprocess.run(shell(ORDERS[protocol], client), env=env, timeout=60, capture_output=True, check=False)
        site.stop(child)
        server, port = site.subject(role, "mock", data_home=home)
        words = ["mock", client, "--trace", "t.trace", "-vv"]
        words += ["--data-home", home] if protocol == "amp" else ["--url", f"http://127.0.0.1:{port}"]
        site.run("mock", client, words, stdin=ORDERS[protocol], AMP_DATA_HOME=home)
        site.stop(server)
    site.note_sent("mock", "user-env")


def replay(site, quick):
    """`replay` of the recordings, as each side."""
    for protocol, (role, client) in ROLES.items():
        trace = site.path("out/record", protocol, "t.trace")
        home = site.path(f"home/replay-{protocol}")
        os.makedirs(home, exist_ok=True)
        server, port = site.subject(role, "replay", data_home=home)
        words = ["replay", trace, "--as", "client", "--timeout", "1s", "--out", "again.trace", *reports(["json", "text"])]
        words += ["--data-home", home] if protocol == "amp" else ["--url", f"http://127.0.0.1:{port}"]
        number = query_number(trace)
        if protocol != "amp" and number:
            words += ["--secret", f"{number}=LEAKS_REPLAY"]
            site.note_sent("replay", "replay-secret")
        site.run("replay", f"{protocol}-as-client", [*words, "-vv"])
        site.stop(server)
        words = ["replay", trace, "--as", "server", "--timeout", "1s", "--out", "again.trace", *reports(["json", "text"])]
        site.run("replay", f"{protocol}-as-server", [*words, "-vv", "--", *shell(ORDERS[protocol], client)])
    site.note_sent("replay", "user-env")


def query_number(trace):
    """The number of the secret in the query of a request."""
    with open(trace, encoding="utf-8") as file:
        found = re.search(r"[?&](?:token|openai_api_key)=<secret:([0-9]+)", file.read())
    return found and found[1]


def traces(site, quick):
    """Traces that the commands before wrote."""
    found = glob.glob(site.path("out/record/*/t.trace")) + glob.glob(site.path("out/mock/*/t.trace"))
    for folder in sorted(glob.glob(site.path("out/certify/*"))):
        found += sorted(glob.glob(os.path.join(folder, "traces/**/*.trace"), recursive=True))[: 1 if quick else 20]
    return sorted(found)


def derive(site, column):
    """Notes for a column that reads traces what the traces can have."""
    site.note_sent(column, *{place for source, place in site.sent() if source in ("record", "mock", "certify")})


def check(site, quick):
    """`check` of all traces, with every report."""
    # Only a whole suite has a certificate.
    kinds = [kind for kind in REPORTS if kind != "certificate"]
    for protocol in ROLES:
        found = [trace for trace in traces(site, quick) if header(trace)["protocol"] == protocol]
        site.run("check", protocol, ["check", *found, *reports(kinds), "-vv"])
    derive(site, "check")


def view(site, quick):
    """`view` of all traces: as text, in full, as a page, as HAR, compared."""
    for number, trace in enumerate(traces(site, quick)):
        forms = [["--html", "page.html"], ["--har", "t.har"], ["--full", "--every", "--width", "4000"]]
        for form in [*forms, [], ["--only-findings", "-C", "3"]][: 2 if quick else None]:
            site.run("view", f"trace-{number}", ["view", trace, *form])
    for protocol in ROLES:
        recorded, other = site.path("out/record", protocol, "t.trace"), site.path("out/mock")
        mocked = glob.glob(os.path.join(other, f"{protocol}-client", "t.trace"))
        for form in [[], ["--html", "page.html"]]:
            site.run("view", f"diff-{protocol}", ["view", recorded, *form, *[w for m in mocked for w in ("--diff", m)]])
    derive(site, "view")


def fixtures(site, quick):
    """`fixtures` cut from traces, in both formats."""
    for number, trace in enumerate(traces(site, quick)):
        protocol = header(trace)["protocol"]
        for more in [["--format", "json"], ["--format", "jsonl", "--normalise"]][: 1 if quick else None]:
            site.run("fixtures", f"trace-{number}", ["fixtures", protocol, "--from", trace, "--out", "cut", *more])
    derive(site, "fixtures")


def header(trace):
    """The first line of a trace."""
    with open(trace, encoding="utf-8") as file:
        return json.loads(file.readline())


def scenario(site, quick):
    """`scenario` from traces, of each side."""
    for number, trace in enumerate(traces(site, quick)):
        for side in ("client", "server"):
            for more in [["--observed"], []][: 1 if quick else None]:
                words = ["scenario", trace, "--as", side, *more, "--out", "made.yaml"]
                site.run("scenario", f"trace-{number}-{side}", words)
    derive(site, "scenario")


def shrink(site, quick):
    """`shrink` of a scenario that fails."""
    words = ["shrink", site.write("in/failing.yaml", FAILING), "--subject", described(site, "amp-server")]
    words += ["--out", "least.yaml", "--max-plays", "12" if quick else "60", "--timeout", "700ms"]
    site.run("shrink", "amp", [*words, "--run-dir", site.path("runs"), "-vv"])
    site.note_sent("shrink", "user-env", "project")


def fuzz(site, quick):
    """`fuzz` of servers that plant secrets."""
    for role in ("amp-server",) if quick else ("amp-server", "openctx-provider", "amplifier-server"):
        words = ["fuzz", role, "--subject", described(site, role), "--seed", "1", "--cases", "2" if quick else "4"]
        words += ["--out", "found", "--timeout", "500ms", "--run-dir", site.path("runs"), *reports(["json", "text"])]
        site.run("fuzz", role, [*words, "-vv", *(["--no-shrink"] if quick else [])])
    site.note_sent("fuzz", "user-env", "project")


def inspect(site, quick):
    """`inspect` of servers: everything that its page can ask for, and what it keeps."""
    for role in ("amp-server", "openctx-provider", "amplifier-server"):
        words = ["inspect", role, "--subject", described(site, role), "--trace", "t.trace", "--keep", "kept", "-vv"]
        child, folder = site.start("inspect", role, [*words, "--run-dir", site.path("runs"), "--timeout", "2s"])
        text = await_line(os.path.join(folder, "stderr"), "#token=")
        if text:
            page = re.search(r"(http://\S+)/#token=(\S+)", text)
            look(folder, page[1], page[2], 40 if quick else 200)
        site.stop(child, signal.SIGINT)
    site.note_sent("inspect", "user-env", "project")


def look(folder, place, token, most):
    """Asks the inspector for all that it can show, `most` events of it, and writes that beside the trace."""

    def ask(name, path, body=None):
        """Makes a request, and writes what came to a file of this name."""
        request = urllib.request.Request(place + path, body and json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {token}")
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                data = response.read() if "live" not in path else response.read1(65536)
        except OSError as error:
            data = error.read() if hasattr(error, "read") else str(error).encode()
        with open(os.path.join(folder, f"{name}.api"), "wb") as file:
            file.write(data)
        return data

    session = json.loads(ask("session", "/api/session"))
    for number, act in enumerate(session.get("acts", [])[:40]):
        name, examples = act.get("name"), act.get("examples") or [{}]
        params = examples[0].get("params", examples[0]) if isinstance(examples[0], dict) else {}
        if name in ("connect", "request", "http", "subscribe", "ping", "meta", "items", "createSession", "health"):
            ask(f"act-{number}", "/api/act", {"act": name, "params": params})
    time.sleep(0.5)
    events = json.loads(ask("events", "/api/events?from=0&limit=500&pieces=true&runs=true"))
    ask("page", "/")
    ask("findings", "/api/findings")
    ask("live", "/api/live")
    ask("session-after", "/api/session")
    total = events.get("total") or events.get("events") or 0
    for number in range(min(total if isinstance(total, int) else len(total), most)):
        ask(f"event-{number}", f"/api/events/{number}")
    for kind in ("scenario", "fixtures", "trace"):
        for side in ("client", "server"):
            ask(f"keep-{kind}-{side}", "/api/keep", {"from": 0, "to": 400, "as": kind, "side": side})


def snapshot(site, quick):
    """`snapshot list` and `accept` of the snapshots that `certify` proposed."""
    for folder in sorted(glob.glob(site.path("out/certify/*/snapshots"))):
        kept = site.path("in", "snapshots", os.path.basename(os.path.dirname(folder)))
        shutil.copytree(folder, kept)
        site.run("snapshot", "list", ["snapshot", "list", "-v", "--snapshots", kept])
        site.run("snapshot", "accept", ["snapshot", "accept", "--snapshots", kept, "-v"])
    site.note_sent("snapshot", *{place for source, place in site.sent() if source == "certify"})


def doctor(site, quick):
    """`doctor` of every subject, also of one that does not start."""
    for role in ("amp-server", "amp-failing", "openctx-provider", "amplifier-server", "amp-client"):
        site.run("doctor", role, ["doctor", "--subject", described(site, role), "-vv"])
    site.note_sent("doctor", "user-env", "lockfile")


def init(site, quick):
    """`init` in projects that have secrets in their files."""
    for name, more in (("plain", ["amplifier-server"]), ("project", ["--ci", "github"])):
        folder = site.path("in/project")
        secret = site.secrets["project"]
        site.write("in/project/.env", f"API_KEY='{secret}'\n")
        package = {"name": "p", "main": "provider.js", "type": "module", "config": {"token": secret}}
        package["scripts"] = {"start": f"API_KEY='{secret}' node provider.js"}
        site.write("in/project/package.json", json.dumps(package))
        site.write("in/project/provider.js", "export default { meta() { return { name: 'p' } } }\n")
        made = site.path("out/init/written")
        os.makedirs(made, exist_ok=True)
        shutil.rmtree(os.path.join(folder, ".github"), ignore_errors=True)
        site.run("init", name, ["init", *more, "--out", os.path.join(folder, f"{name}.yaml"), "-vv"])
        for written in (f"{name}.yaml", ".github"):
            path = os.path.join(folder, written)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(made, f"{name}-github"), dirs_exist_ok=True)
            elif os.path.exists(path):
                shutil.copy(path, made)
    site.note_sent("init", "user-env", "project")


# In this order: the later ones read what the earlier ones wrote.
COMMANDS = (
    certify, run, call, record, mock, replay, check, view, fixtures, scenario, shrink, fuzz, inspect, snapshot, doctor, init,
)  # fmt: skip
