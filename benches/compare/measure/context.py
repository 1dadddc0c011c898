"""Where programs and files are, and how programs are started, loaded, timed and stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
INSTALLED = os.path.join(ROOT, "target", "compare")
# Seconds until something that should have ended is given up.
PATIENCE = 300


class Failed(Exception):
    """Something could not be measured."""


class Server:
    """A program that serves until it is stopped. Its first line on stdout is a JSON object with the port."""

    def __init__(self, context, command):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=context.environment,
            cwd=context.folder,
        )
        context.running.append(self)
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{os.path.basename(command[0])} did not start: {' '.join(command)}")
        self.ready = json.loads(line)
        self.port = self.ready.get("port") or int(self.ready["url"].rstrip("/").rsplit(":", 1)[1])
        self.pid = self.process.pid

    def memory(self, what="VmHWM"):
        """The memory of the process in bytes: the most so far (VmHWM), or now (VmRSS)."""
        return memory(self.pid, what)

    def stop(self):
        """Ends the process as its user would; gives the most memory that it took."""
        peak = self.memory() if self.process.poll() is None else 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        return peak


def memory(pid, what):
    """A figure of /proc/PID/status, in bytes."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(what + ":"):
                return int(line.split()[1]) * 1024
    return 0


class Context:
    """One run: the programs, a temporary folder, and all that was started."""

    def __init__(self, wirecert, options):
        self.wirecert = os.path.abspath(wirecert)
        self.quick = options.quick
        self.repeat = options.repeat or (2 if options.quick else 10)
        self.folder = tempfile.mkdtemp(prefix="compare-", dir=options.scratch)
        self.workspace = self.file("workspace")
        os.makedirs(self.workspace)
        self.environment = {
            **os.environ,
            "TMPDIR": self.folder,
            "AMP_DATA_HOME": self.file("data"),
            "COMPARE_KEY": "any",
            "NO_COLOR": "1",
        }
        self.running = []
        self.load = os.path.join(INSTALLED, "bare", "release", "load")
        self.bare = os.path.join(INSTALLED, "bare", "release", "bare")
        self.hurl = installed(os.path.join(INSTALLED, "hurl", "bin", "hurl"), "hurl")
        self.mitmdump = installed(os.path.join(INSTALLED, "mitmproxy", "bin", "mitmdump"), "mitmdump")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def complete(self):
        """Whether the loader is there; says what to do where it is not, and which rivals are left out."""
        if not os.path.exists(self.load):
            print("the loader is not built: run benches/compare/setup", file=sys.stderr)
            return False
        for name, path in (("hurl", self.hurl), ("mitmproxy", self.mitmdump)):
            if not path:
                print(f"{name} is not installed and is left out: benches/compare/setup installs it", file=sys.stderr)
        return True

    def file(self, name):
        """A path in the temporary folder."""
        return os.path.join(self.folder, name)

    def write(self, name, text):
        """Writes a file in the temporary folder, and gives its path."""
        path = self.file(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def fewer(self, count, quick):
        """How many: the first number, or with --quick the second."""
        return quick if self.quick else count

    def serve(self, *command):
        """Starts a server, and gives it when it is ready."""
        return Server(self, list(command))

    def mock(self, role, *options):
        """Starts a mock of wirecert."""
        return self.serve(self.wirecert, "mock", role, "--workspace", self.workspace, *options)

    def stop(self, *servers):
        """Stops these servers, or all."""
        for server in servers or list(self.running):
            server.stop()
            if server in self.running:
                self.running.remove(server)

    def ask(self, *words):
        """Runs the loader, and gives what it found."""
        command = [self.load, *map(str, words)]
        # In a process group of its own, so that what it started can be ended with it.
        loader = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,
        )
        try:
            out, said = loader.communicate(timeout=PATIENCE)
        except BaseException:
            os.killpg(loader.pid, signal.SIGTERM)
            loader.communicate()
            raise
        if loader.returncode != 0:
            raise Failed(f"`{' '.join(command)}`: {said.strip()}")
        found = json.loads(out)
        if isinstance(found, dict):
            found["said"] = said[-2000:]
        return found

    def time(self, *command, codes=(0,)):
        """Runs a program to its end, and gives seconds, processor time and the most memory."""
        output = self.file("output")
        found = self.ask("time", "--out", output, "--", *command)
        if found["code"] not in codes:
            with open(output, encoding="utf-8", errors="replace") as file:
                last = file.read()[-2000:]
            raise Failed(f"`{' '.join(command)}` ended with exit code {found['code']}: {last}{found['said']}")
        return found


def installed(path, name):
    """The path of a rival, below target/ or in PATH; nothing where it is in neither."""
    return path if os.path.exists(path) else shutil.which(name)
