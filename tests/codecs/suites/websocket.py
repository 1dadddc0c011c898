"""WebSockets: the cases of Autobahn|Testsuite, run by `kosoku`, against the mocks and through the recorder of wirecert."""

import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import threading

from . import rfc6455, tools
from .relay import Relay
from .tools import Row

TOKEN = "codecs-of-wirecert"
GROUPS = {
    "1": "framing",
    "2": "pings and pongs",
    "3": "reserved bits",
    "4": "opcodes",
    "5": "fragmentation",
    "6": "UTF-8",
    "7": "close",
    "9": "limits",
    "10": "automatic fragmentation",
    "12": "compression, one message after the other",
    "13": "compression, parameters",
}
# What needs an echo, which an editor of AMP does not give: these run through the recorder only.
ECHO_ONLY = ["9.*", "12.*", "13.*"]
# Cases at a time.
PARALLEL = 8
# Seconds for a whole run of the suite.
WHOLE = 900
# Requirements of AMP on frames of a client, and what the second reader calls the fault; those of a server without `client-`.
FAULTS = {
    "client-masked": "mask",
    "client-reserved-bits": "reserved-bits",
    "client-opcode": "opcode",
    "client-control-length": "control-length",
    "client-control-whole": "control-whole",
    "client-fragments": "fragments",
    "client-shortest-length": "shortest-length",
    "client-utf8": "utf8",
    "client-close-code": "close-code",
    "client-close-payload": "close-payload",
    "client-close-reason": "close-reason",
    "client-close-last": "close-last",
}
SERVER_FAULTS = {**{key[len("client-") :]: fault for key, fault in FAULTS.items()}, "unmasked": "mask"}


def rows(options):
    """All results of this part."""
    yield from against_the_editor(options)
    yield from against_the_agent(options)
    yield from recorded(options, from_client=True)
    yield from recorded(options, from_client=False)


# Against the mocks.


def against_the_editor(options):
    """Autobahn's client against `wirecert mock amp-server`."""
    with tools.folder() as folder:
        trace = os.path.join(folder, "server.trace")
        command = [options.wirecert, "mock", "amp-server", "--workspace", folder, "--data-home", folder]
        command += ["--token", TOKEN, "--trace", trace]
        with tools.Process(command) as mock:
            with Relay(mock.json()["port"], lambda _: f"/?auth={TOKEN}", numbered=True) as relay:
                cases = fuzzing_client(relay.port, folder, options.case, ECHO_ONLY)
                copies = relay.connections
        decoded = messages_by_name(trace, "c2s")
    yield from judged_cases("mock amp-server", cases, {c.name: c for c in map(read_copy, copies)}, decoded, "client")


def against_the_agent(options):
    """`wirecert mock amp-client` against Autobahn's server."""
    with tools.folder() as folder:
        port = tools.free_port()
        server = fuzzing_server(port, folder, options.case, ECHO_ONLY)
        with server:
            numbers = range(case_count(port))
            with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
                played = list(pool.map(lambda n: play_agent(options, folder, port, n), numbers))
            finish(port, server)
        cases = reports(folder)
    copies, decoded = {}, {}
    for copy, messages in played:
        connection = read_copy(copy)
        copies[connection.name] = connection
        decoded[connection.name] = messages
    yield from judged_cases("mock amp-client", cases, copies, decoded, "server")


def play_agent(options, folder, port, number):
    """Lets the mock agent connect to the server for one case; returns the bytes, and the messages that it decoded."""
    home = os.path.join(folder, f"home-{number}")
    trace = os.path.join(folder, f"{number}.trace")
    with Relay(port, lambda n: f"/runCase?case={number + 1}&agent=wirecert" if n == 0 else "/none") as relay:
        lockfile(home, relay.port, folder)
        command = [options.wirecert, "mock", "amp-client", "--data-home", home, "--workspace", folder, "--trace", trace]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
            # A case that the server does not end is ended here.
            timer = threading.Timer(tools.SOON, agent.terminate)
            timer.start()
            for line in agent.stdout:
                if '"disconnected"' in line or '"reconnecting"' in line or '"no_server"' in line:
                    break
            timer.cancel()
            agent.stdin.close()
            agent.stdout.read()
        copy = relay.connections[0] if relay.connections else (b"", b"")
    messages = list(messages_by_name(trace, "s2c").values())
    return copy, messages[0] if messages else []


def lockfile(home, port, workspace):
    """Writes the lockfile of an editor at this port."""
    ide = os.path.join(home, "amp", "ide")
    os.makedirs(ide, exist_ok=True)
    content = {
        "port": port,
        "authToken": TOKEN,
        "pid": os.getpid(),
        "workspaceFolders": [workspace],
        "ideName": "codecs",
    }
    path = os.path.join(ide, f"{port}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.chmod(path, 0o600)


def judged_cases(part, cases, copies, decoded, fuzzer):
    """A row for each case: how the mock behaved, and whether it decoded the messages that the second reader has found."""
    for case in cases:
        connection = copies.get(name_of(case))
        behaved = behaviour(case)
        sent = getattr(connection, fuzzer) if connection else None
        if behaved in ("OK", "NON-STRICT") and sent is not None and not sent.faults:
            if not same_messages(sent.messages, decoded.get(connection.name, [])):
                behaved = "decoded other messages"
        yield tools.judged(part, group(case), case["id"], "OK", behaved, choices=("NON-STRICT", "INFORMATIONAL"))


def behaviour(case):
    """The verdict of the case, if the messages of AMP are no part of it: what remains are pings, pongs, and the close."""

    def without_messages(items):
        return [item for item in items if item[0] != "message"]

    expected = {name: without_messages(items) for name, items in case["expected"].items()}
    received = without_messages(case["received"])
    if case["behavior"] == "INFORMATIONAL":
        return "INFORMATIONAL"
    verdict = next((name for name in ("OK", "NON-STRICT") if expected.get(name) == received), None)
    if verdict is None:
        return f"received {received}"
    echo = [item for item in case["expected"].get("OK", []) if item[0] == "message"]
    if echo and case["behaviorClose"] != "OK":
        # The case waits for its message to come back, and then closes. An editor sends none back: it keeps the
        # connection open until the case gives up, or refuses binary data.
        if any(item[2] for item in echo) and case["remoteCloseCode"] == 1003:
            return verdict
        if case["remoteCloseCode"] is None and case["droppedByMe"]:
            return verdict
    if not echo and case["behaviorClose"] != "OK" and case["droppedByMe"] and case["remoteCloseCode"] is None:
        # 7.1.1 closes only in answer to a message.
        if case["closedByMe"] is False and case["txFrameStats"].get("8") is None:
            return verdict
    if case["behaviorClose"] in ("OK", "INFORMATIONAL"):
        return verdict
    return f"close: {case['behaviorClose']}, code {case['remoteCloseCode']}"


# Through the recorder.


def recorded(options, from_client):
    """Autobahn's client and an echo server of node, or the other way round, with `wirecert record amp` between them."""
    part = f"record, faults of the {'client' if from_client else 'server'}"
    with tools.folder() as folder:
        trace = os.path.join(folder, "record.trace")
        home = os.path.join(folder, "home")
        if from_client:
            cases, copies = record_client(options, folder, home, trace)
        else:
            cases, copies = record_server(options, folder, home, trace)
        connections = {c.name: c for c in map(read_copy, copies) if c.accepted}
        del copies
        decoded = {way: messages_by_name(trace, way) for way in ("c2s", "s2c")}
        findings = findings_by_name(options, trace, folder, from_client)
    for case in cases:
        connection = connections.get(name_of(case))
        if connection is None:
            # A case of which the runner of the suite could play nothing.
            outcome = "differs" if case["httpRequest"] else "skipped"
            yield Row(part, group(case), case["id"], "a connection", f"none: {case['result']}", outcome)
            continue
        yield judged_record(part, case, connection, decoded, findings, from_client)


def judged_record(part, case, connection, decoded, findings, from_client):
    """The row of a case: the messages of both ends, and the faults of the fuzzing one."""
    got = []
    fuzzing = connection.client if from_client else connection.server
    for way, reading in (("c2s", connection.client), ("s2c", connection.server)):
        if not same_messages(reading.messages, decoded[way].get(connection.name, [])):
            got.append(f"other messages {way}")
    told = {fault for fault in findings.get(connection.name, set())}
    if told != fuzzing.faults:
        missing, more = sorted(fuzzing.faults - told), sorted(told - fuzzing.faults)
        got.append(f"not told: {', '.join(missing) or 'none'}; told in addition: {', '.join(more) or 'none'}")
    expected = f"the messages, and {', '.join(sorted(fuzzing.faults)) or 'no fault'}"
    return Row(part, group(case), case["id"], expected, "; ".join(got) or expected, "differs" if got else "holds")


def record_client(options, folder, home, trace):
    """Runs Autobahn's client against the echo server through the recorder; returns its reports, and the bytes."""
    with tools.node("echo_server.mjs", stdin=subprocess.DEVNULL) as server, tools.folder() as ours:
        lockfile(home, int(server.first), folder)
        with recorder(options, home, trace, folder) as recording:
            port = recording.json()["port"]
            with Relay(port, lambda _: f"/?auth={TOKEN}", numbered=True) as relay:
                cases = fuzzing_client(relay.port, ours, options.case, large(options))
                copies = relay.connections
    return cases, copies


def record_server(options, folder, home, trace):
    """Runs the echo client against Autobahn's server through the recorder; returns its reports, and the bytes."""
    with tools.folder() as ours:
        port = tools.free_port()
        server = fuzzing_server(port, ours, options.case, large(options))
        with server:
            count = case_count(port)
            with Relay(port, lambda n: f"/runCase?case={n + 1}&agent=node") as relay:
                lockfile(home, relay.port, folder)
                with recorder(options, home, trace, folder) as recording:
                    url = f"ws://127.0.0.1:{recording.json()['port']}/?auth={TOKEN}"
                    program = os.path.join(tools.PROGRAMS, "echo_client.mjs")
                    subprocess.run(["node", program, url, str(count), str(PARALLEL)], check=False, timeout=WHOLE)
                copies = relay.connections
            finish(port, server)
        return reports(ours), copies


def large(options):
    """The cases that are left out of a recording unless all are asked for: traces of more than some mebibytes."""
    if options.all:
        return []
    messages = ["9.1.4", "9.1.5", "9.1.6", "9.2.4", "9.2.5", "9.2.6", "9.3.*", "9.4.*"]
    compressed = [f"12.{kind}.{number}" for kind in range(1, 6) for number in range(6, 19)]
    return messages + compressed + [f"13.{kind}.{number}" for kind in range(1, 8) for number in range(6, 19)]


def recorder(options, home, trace, folder):
    """`wirecert record amp` for the editor whose lockfile is in this data home."""
    command = [options.wirecert, "record", "amp", "--data-home", home, "--out", trace, "--edition", "cli"]
    return Recording(command, folder)


class Recording(tools.Process):
    """A recorder, and the lockfile that it offers."""

    def __init__(self, command, folder):
        super().__init__(command, cwd=folder)

    def json(self):
        """The lockfile that clients are to read."""
        where = super().json()
        ide = os.path.join(where["env"]["AMP_DATA_HOME"], "amp", "ide")
        name = next(name for name in os.listdir(ide) if name.endswith(".json"))
        with open(os.path.join(ide, name), encoding="utf-8") as file:
            return json.load(file)


def findings_by_name(options, trace, folder, from_client):
    """The faults that `wirecert check` tells of each connection, by its name."""
    names = FAULTS if from_client else SERVER_FAULTS
    parts = split(trace, folder)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda item: (item[0], check(options, item[1])), parts.items())
    return {key: {names[short] for short in ids if short in names} for key, ids in found}


def check(options, trace):
    """The short names of the requirements on frames that a trace violates."""
    done = subprocess.run(
        [options.wirecert, "check", trace, "--report", "json=-", "--quiet"], capture_output=True, text=True, check=False
    )
    report = json.loads(done.stdout)
    ids = set()
    for subject in report["subjects"]:
        for finding in subject["findings"]:
            area, _, short = finding["requirement"].rpartition("/")
            if area.endswith("/framing"):
                ids.add(short)
    return ids


def split(trace, folder):
    """Writes a trace for each connection; returns them by its name."""
    with open(trace, encoding="utf-8") as file:
        header = file.readline()
    by_connection = collections.defaultdict(list)
    keys = {}
    for event in tools.events(trace):
        name = event.get("conn")
        if name is None:
            continue
        if event["kind"] == "handshake" and event["dir"] == "c2s":
            keys[name] = name_in(event)
        by_connection[name].append(event)
    paths = {}
    for name, items in by_connection.items():
        path = os.path.join(folder, f"{name}.trace")
        with open(path, "w", encoding="utf-8") as file:
            file.write(header)
            for number, event in enumerate(items):
                file.write(json.dumps({**event, "i": number}) + "\n")
            file.write(json.dumps({"end": "complete", "events": len(items)}) + "\n")
        if name in keys:
            paths[keys[name]] = path
    return paths


# Reading what was recorded.


def messages_by_name(trace, way):
    """The messages of this direction, by the name of their connection."""
    keys, found = {}, collections.defaultdict(list)
    for event in tools.events(trace):
        if event["kind"] == "handshake" and event["dir"] == "c2s":
            keys[event["conn"]] = name_in(event)
        elif event["kind"] == "message" and event["dir"] == way:
            found[keys.get(event["conn"])].append(event)
    return found


def name_in(handshake):
    """The name of the connection of a handshake in a trace."""
    headers = {key.lower(): value for key, value in handshake["headers"]}
    return headers.get("x-connection") or headers.get("sec-websocket-key")


def same_messages(sent, decoded):
    """Whether the messages of a trace are those that the second reader has found."""
    if len(sent) != len(decoded):
        return False
    for (binary, data), event in zip(sent, decoded):
        if binary == event["text"]:
            return False
        if "json" in event:
            try:
                if json.loads(data) != event["json"]:
                    return False
            except ValueError:
                return False
        elif tools.payload(event.get("payload")) != data:
            return False
    return True


def read_copy(copy):
    """The second reader's view of a connection."""
    return rfc6455.Connection(*copy)


def name_of(case):
    """The name of the connection of a case."""
    return rfc6455.name(case["httpResponse"].encode("latin-1"), case["httpRequest"].encode("latin-1"))


def group(case):
    """The name of the group that a case belongs to."""
    return GROUPS[case["id"].split(".")[0]]


# Autobahn's cases.


def selection(include, exclude):
    """The options of `kosoku` that choose cases."""
    chosen = [word for name in include or [] for word in ("--include", name)]
    return chosen + [word for name in exclude for word in ("--exclude", name)]


def fuzzing_client(port, folder, include, exclude):
    """Runs the cases against a server; returns their reports."""
    command = [tools.venv("kosoku"), "--mode", "fuzzingclient", "--parallelism", str(PARALLEL), "--outdir", folder]
    command += [*selection(include, exclude), f"127.0.0.1:{port}"]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=WHOLE)
    return reports(folder)


def fuzzing_server(port, folder, include, exclude):
    """Starts the server that plays the cases."""
    command = [tools.venv("kosoku"), "--mode", "fuzzingserver", "--outdir", folder]
    server = tools.Process([*command, *selection(include, exclude), f"127.0.0.1:{port}"], ready=False)
    tools.wait_for(port)
    return server


def ask(port, target):
    """Opens a WebSocket at a server of cases, and returns the text of its first message."""
    with tools.connect(port) as stream:
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        stream.sendall(f"{head}Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        data = b""
        while not (reading := rfc6455.Reading(data.partition(b"\r\n\r\n")[2], False)).opcodes:
            piece = stream.recv(1 << 16)
            if not piece:
                break
            data += piece
        return reading.messages[0][1].decode() if reading.messages else ""


def case_count(port):
    """The number of cases that the server plays."""
    return int(ask(port, "/getCaseCount"))


def finish(port, server):
    """Tells the server that all cases were played, and waits until it has written its reports."""
    ask(port, "/updateReports?agent=wirecert")
    try:
        server.process.wait(tools.SOON)
    except subprocess.TimeoutExpired:
        sys.exit("the server of cases did not end")


def reports(folder):
    """The reports of the cases, in their order."""
    cases = []
    for name in os.listdir(folder):
        if name.endswith(".json") and "_case_" in name:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                cases.append(json.load(file))
    return sorted(cases, key=lambda case: [int(number) for number in case["id"].split(".")])
