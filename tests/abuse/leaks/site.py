"""`Site`: a folder in which wirecert is run, with a folder for what each command writes."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from .places import secret

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECT = os.path.join(HERE, "subject.py")
# Seconds that a command may take.
LONGEST = 120


class Site:
    """Where the commands run. What they are given is below `in`, what they write below `out/COMMAND/RUN`."""

    def __init__(self, wirecert, places, seed):
        self.wirecert = os.path.realpath(wirecert)
        self.root = tempfile.mkdtemp(prefix="wirecert-leaks-")
        for folder in ("in", "out", "tmp", "home", "runs"):
            os.mkdir(self.path(folder))
        self.secrets = {place.name: secret(seed, place.name) for place in places}
        self.write("in/plan.json", json.dumps(self.secrets))
        self.children, self.log, self.numbers = [], [], {}

    def path(self, *names):
        """The path of a file of the site."""
        return os.path.join(self.root, *names)

    def write(self, name, text):
        """Writes a file that wirecert is given, and gives its path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def environment(self, column, **more):
        """The environment of wirecert and of what it starts."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": self.path("home"),
            "TMPDIR": self.path("tmp"),
            "LEAKS_PLAN": self.path("in/plan.json"),
            "LEAKS_LABEL": column,
            "LEAKS_KEY": self.secrets["credentials"],
            "LEAKS_REPLAY": self.secrets["replay-secret"],
            "UNRELATED_PASSWORD": self.secrets["user-env"],
            **more,
        }

    def folder(self, column, name):
        """A fresh folder for what one run of a command writes."""
        self.numbers[column, name] = number = self.numbers.get((column, name), 0) + 1
        path = self.path("out", column, name if number == 1 else f"{name}-{number}")
        os.makedirs(path)
        return path

    def start(self, column, name, words, stdin=None, **env):
        """Starts a command of wirecert; gives the process and its folder, in which stdout and stderr are files."""
        folder = self.folder(column, name)
        with open(os.path.join(folder, "stdout"), "wb") as out, open(os.path.join(folder, "stderr"), "wb") as err:
            child = subprocess.Popen(
                [self.wirecert, *words],
                cwd=folder,
                env=self.environment(column, **env),
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.children.append(child)
        if stdin is not None:
            feed(child.stdin, stdin)
        return child, folder

    def run(self, column, name, words, stdin=None, **env):
        """Runs a command to its end, and gives its folder."""
        began = time.monotonic()
        child, folder = self.start(column, name, words, stdin, **env)
        try:
            code = child.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.stop(child)
            code = "killed"
        self.log.append((column, name, code, round(time.monotonic() - began, 1), words))
        return folder

    def subject(self, role, column, *, quiet=False, port=None, data_home=None):
        """Starts a subject by itself; gives its process and its port."""
        port = port or free_port()
        env = self.environment(column, WIRECERT_PORT=str(port), **({"LEAKS_QUIET": "1"} if quiet else {}))
        if data_home:
            env["AMP_DATA_HOME"] = data_home
        child = subprocess.Popen(
            [sys.executable, SUBJECT, role],
            env=env,
            cwd=self.path("tmp"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.children.append(child)
        await_port(port)
        return child, port

    def stop(self, child, number=signal.SIGTERM):
        """Ends a process that this program started, and what is in its group."""
        try:
            child.send_signal(number)
            child.wait(10)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except OSError:
            pass
        child.wait()

    def close(self, keep):
        """Stops everything, and removes the folder."""
        for child in self.children:
            if child.poll() is None:
                self.stop(child, signal.SIGKILL)
        if keep:
            print(f"kept {self.root}")
        else:
            shutil.rmtree(self.root, ignore_errors=True)

    def sent(self):
        """What the subjects sent: pairs of a column and a place."""
        try:
            with open(self.path("in/plan.json.sent"), encoding="utf-8") as file:
                return {tuple(line.split()) for line in file if line.strip()}
        except OSError:
            return set()

    def note_sent(self, column, *places):
        """Notes what this program itself has planted."""
        with open(self.path("in/plan.json.sent"), "a", encoding="utf-8") as file:
            file.writelines(f"{column} {place}\n" for place in places)


def feed(pipe, lines):
    """Writes lines to a process, and closes its stdin a moment later."""

    def writing():
        try:
            for line in lines:
                pipe.write(line.encode() + b"\n")
                pipe.flush()
                time.sleep(0.15)
            time.sleep(1.5)
            pipe.close()
        except OSError:
            pass

    threading.Thread(target=writing, daemon=True).start()


def shell(orders, role):
    """The words of a command that runs a driven client with these orders."""
    lines = "; ".join(f"printf '%s\\n' {shlex.quote(order)}; sleep 0.2" for order in orders)
    program = f"{shlex.quote(sys.executable)} {shlex.quote(SUBJECT)} {role}"
    # What it prints goes to the terminal, and is none of wirecert's output.
    return ["sh", "-c", f"({lines}; sleep 0.3) | LEAKS_PATIENT=1 exec {program} >/dev/null 2>&1"]


def free_port():
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_port(port, seconds=30):
    """Waits until somebody listens on this port."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"nobody listens on port {port}")


def await_line(path, mark, seconds=20):
    """Waits until a file has this text, and gives its content."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if mark in text:
            return text
        time.sleep(0.05)
    return ""
