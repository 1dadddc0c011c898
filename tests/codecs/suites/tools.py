"""What the parts share: installed packages, processes, ports, traces, and the rows of the result."""

import dataclasses
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGET = os.path.join(ROOT, "target", "codecs")
# Node resolves packages from the folder of the program, so the programs run as copies beside the packages.
PROGRAMS = os.path.join(TARGET, "node")
# Seconds that anything that should happen at once may take.
SOON = 20


@dataclasses.dataclass
class Row:
    """The result of one case."""

    part: str
    group: str
    case: str
    expected: str
    got: str
    # `holds`, `choice` (the standard leaves it to the recipient), `differs`, or `skipped` (the suite itself failed).
    outcome: str = "holds"


def judged(part, group, case, expected, got, choices=()):
    """A row whose outcome follows from what is expected, and from what is also permitted."""
    outcome = "holds" if got == expected else "choice" if got in choices else "differs"
    return Row(part, group, case, str(expected), str(got), outcome)


def wanted():
    """The packages to install, as a text that changes with them."""
    texts = []
    for name in ("requirements.txt", "node/package.json", "node/package-lock.json"):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            texts.append(file.read())
    return "".join(texts)


def install():
    """Installs the suites into `target/codecs`, unless the same versions are there."""
    stamp = os.path.join(TARGET, "installed")
    if not os.path.isfile(stamp) or read(stamp) != wanted():
        shutil.rmtree(TARGET, ignore_errors=True)
        os.makedirs(PROGRAMS)
        run([sys.executable, "-m", "venv", os.path.join(TARGET, "venv")])
        pip = [venv("pip"), "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        run([*pip, "--requirement", os.path.join(HERE, "requirements.txt")])
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, "node", name), PROGRAMS)
        run(["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PROGRAMS)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted())
    for name in os.listdir(os.path.join(HERE, "node")):
        if name.endswith(".mjs"):
            shutil.copy(os.path.join(HERE, "node", name), PROGRAMS)


def venv(program):
    """The path of a program of the Python environment."""
    return os.path.join(TARGET, "venv", "bin", program)


def run(command, **options):
    """Runs a command that has to succeed, and returns what it printed."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def free_port():
    """A port on which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def wait_for(port):
    """Waits until somebody listens on the port."""
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        try:
            connect(port).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    sys.exit(f"nobody listens on the port {port}")


def folder():
    """A temporary folder, removed at the end of the block."""
    return tempfile.TemporaryDirectory(prefix="wirecert-codecs-")


class Process:
    """A process of a block, ended by its id at the end. Its first line on stdout says that it is ready."""

    def __init__(self, command, ready=True, **options):
        options.setdefault("stderr", subprocess.DEVNULL)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
        self.first = self.process.stdout.readline() if ready else ""
        if ready and not self.first:
            sys.exit(f"`{' '.join(command)}` ended before it was ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def json(self):
        """The first line, which is JSON."""
        return json.loads(self.first)

    def stop(self, how=signal.SIGTERM):
        """Ends the process; returns the lines that it wrote after the first one."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            rest, _ = self.process.communicate(timeout=SOON)
        except subprocess.TimeoutExpired:
            self.process.kill()
            rest, _ = self.process.communicate()
        return rest.splitlines() if rest else []


def node(program, *arguments, **options):
    """A node program of ours that is ready."""
    return Process(["node", os.path.join(PROGRAMS, program), *arguments], **options)


def events(trace):
    """The events of a trace file."""
    with open(trace, encoding="utf-8") as file:
        next(file)
        for line in file:
            event = json.loads(line)
            if "kind" in event:
                yield event


def payload(value):
    """The bytes of a payload in a trace."""
    import base64

    if value is None:
        return None
    return value["text"].encode() if "text" in value else base64.b64decode(value["base64"])


def connect(port):
    """A connection to a port of this machine that does not join small writes."""
    stream = socket.create_connection(("127.0.0.1", port), timeout=SOON)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def receive_all(stream, seconds=SOON):
    """All bytes up to the end of the stream, or what came in time."""
    stream.settimeout(seconds)
    pieces = []
    try:
        while piece := stream.recv(1 << 16):
            pieces.append(piece)
    except OSError:
        pass
    return b"".join(pieces)


class Listener:
    """Listens on a port of loopback, and gives each connection to `serve` of a subclass. Ends with the block."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        """Takes connections until the listener is closed."""
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        """Answers what comes on a connection."""
        raise NotImplementedError


def record_responses(options, protocol, port, trace, count):
    """Has the recorder record the responses to `/0`, `/1` and so on of a server."""
    command = [options.wirecert, "record", protocol, "--upstream", f"http://127.0.0.1:{port}", "--out", trace]
    with Process(command) as recorder:
        client = http.client.HTTPConnection("127.0.0.1", recorder.json()["port"], timeout=SOON)
        for number in range(count):
            client.request("GET", f"/{number}")
            client.getresponse().read()
        client.close()
        recorder.stop(signal.SIGTERM)
