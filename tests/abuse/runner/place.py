"""`Place`, the folder of one play: what wirecert is given, and what it may leave."""

import json
import os
import subprocess
import sys
import tempfile

from . import processes

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Not a secret: what a server is given in the place of a key.
KEY = "sk-ant-api03-" + "x" * 82

FILTERS = {
    ("amp-server", "plain"): "id(amp-server/cli/ping/echo)|id(amp-server/cli/ping/any-text*)",
    ("openctx-provider", "plain"): "id(*/meta/meta)|id(*/meta/extra-params)|id(*/envelope/without-settings*)",
    ("amplifier-server", "plain"): "id(*/health/healthy)|id(*/info/info)",
    ("amplifier-server", "stream"): "id(*/events/text)|id(*/stream/subscribed)",
    ("amplifier-server", "socket"): "id(*/websocket/handshake)|id(*/websocket/events[text])",
    ("amp-client", "plain"): "id(amp-client/cli/ping/echo[text])",
    ("openctx-client", "plain"): "id(*/meta/result)",
    ("amplifier-client", "plain"): "id(*/catalogs/health)|id(*/catalogs/info)",
    ("amplifier-client", "socket"): "id(*/websocket/events[text])",
}
EDITIONS = {"amp": "cli", "openctx": "0.1", "amplifier": "2025-12-09"}


def kind_waits(kind):
    """Whether the kind is given several seconds to answer."""
    return kind.timeout.endswith("s") and not kind.timeout.endswith("ms")


class Place:
    """A folder with a description of the subject, and with room for what is written."""

    def __init__(self, kind, role):
        self.kind = kind
        self.role = role
        self.root = tempfile.mkdtemp(prefix="wirecert-abuse-")
        for folder in ("tmp", "home", "canary"):
            os.mkdir(self.path(folder))
        with open(self.path("canary/keep"), "w", encoding="utf-8") as file:
            file.write("kept\n")
        with open(self.path("wirecert.yaml"), "w", encoding="utf-8") as file:
            json.dump(self.subject(), file, indent=1)

    def path(self, name):
        return os.path.join(self.root, name)

    def subject(self):
        """The content of wirecert.yaml; JSON is YAML."""
        role = "openctx-provider" if self.role == "openctx-module" else self.role
        subject = {
            "name": self.kind.name,
            "role": role,
            "edition": EDITIONS[role.split("-")[0]],
            "ready": {"within": "4s"},
            "stop": {"within": "300ms"},
            "timeouts": {"longest": "10s" if kind_waits(self.kind) else "4s"},
        }
        if self.role == "openctx-module":
            name = "syntax.mjs" if self.kind.name == "module-syntax" else "module.mjs"
            subject["module"] = os.path.join(HERE, "subjects", name)
        else:
            subject["launch"] = [
                sys.executable,
                "-S",
                "-E",
                os.path.join(HERE, "subject.py"),
                self.role,
                self.kind.name,
            ]
        if role == "amplifier-server":
            subject["prompts"] = {"text": "Say two words."}
            subject["credentials"] = {"good": "ABUSE_KEY"}
        return {**subject, **self.kind.subject}

    def command(self, wirecert):
        """What to run, in this place."""
        command = [wirecert, "certify", "--subject", "wirecert.yaml", "--timeout", self.kind.timeout]
        suite = self.kind.suite
        if suite is None:
            role = "openctx-provider" if self.role == "openctx-module" else self.role
            suite = FILTERS.get((role, self.kind.traffic)) or FILTERS[(role, "plain")]
        if suite:
            command += ["--filter", suite]
        command += [
            "--progress",
            "none",
            "--confirm-time",
            "1s",
            "--trace-dir",
            "traces",
            "--report",
            "json=report.json",
        ]
        return command + list(self.kind.options)

    def environment(self):
        home = self.path("home")
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": home,
            "TMPDIR": self.path("tmp"),
            "XDG_DATA_HOME": os.path.join(home, "data"),
            "XDG_CACHE_HOME": os.path.join(home, "cache"),
            "XDG_CONFIG_HOME": os.path.join(home, "config"),
            "XDG_STATE_HOME": os.path.join(home, "state"),
            "XDG_RUNTIME_DIR": self.path("tmp"),
            "ABUSE_KIND": self.kind.name,
            "ABUSE_CANARY": self.path("canary"),
            "ABUSE_KEY": KEY,
        }

    def left(self):
        """What is left that should not be: files in TMPDIR and HOME; and what is missing of what was ours."""
        left = [os.path.join(folder, name) for folder in ("tmp", "home") for name in os.listdir(self.path(folder))]
        if os.listdir(self.path("canary")) != ["keep"]:
            left.append(f"canary: {os.listdir(self.path('canary'))[:3]}")
        return left

    def report(self):
        """The JSON report, `None` if there is none."""
        try:
            with open(self.path("report.json"), encoding="utf-8") as file:
                return json.load(file)
        except OSError:
            return None

    def size_of_traces(self):
        """Bytes of all traces."""
        return sum(
            os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(self.path("traces")) for name in names
        )

    def remove(self):
        """Removes all, also what is nested deeper than this program could follow."""
        processes.unmount(self.path("tmp"))
        subprocess.run(["rm", "-rf", self.root], check=False, stderr=subprocess.DEVNULL)
