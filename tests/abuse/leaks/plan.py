"""`Plan`: the secrets that a planting subject has, what it puts where, and which of them it has sent."""

import base64
import json
import os
import urllib.parse

from .places import ECHOES, HEADERS, NAMES

# Echoes that are JSON values in messages and bodies. The others have places of their own.
VALUES = (
    "whole", "json-escapes", "unicode-escapes", "percent", "percent-all", "percent-lower", "nested-json", "cut-2",
    "cut-many", "member-name", "number", "base64", "hex",
)  # fmt: skip


class Plan:
    """Reads the plan that the runner wrote, and notes in a file beside it what was sent."""

    def __init__(self, protocol):
        self.protocol = protocol
        self.path = os.environ["LEAKS_PLAN"]
        with open(self.path, encoding="utf-8") as file:
            self.secrets = json.load(file)
        self.label = os.environ.get("LEAKS_LABEL", "")
        # Whether it plants nothing but its lockfile.
        self.quiet = "LEAKS_QUIET" in os.environ

    def take(self, name):
        """The secret of a place, which counts as sent."""
        with open(f"{self.path}.sent", "ab", buffering=0) as file:
            file.write(f"{self.label} {name}\n".encode())
        return self.secrets[name]

    def headers(self, side):
        """Headers with secrets, for requests or responses (`side`)."""
        named = [(name, scheme + self.take(f"{side}-{name}")) for name, scheme in HEADERS.items()]
        # Known since the head that has them, for what has no order with the messages.
        later = [("Set-Cookie", self.take(f"echo-{echo}")) for echo in ("stdout", "stderr", "stderr-cut", "header")]
        return [*named, *later, ("X-Echo", self.secrets["echo-header"]), ("X-Secret", self.take("unnamed-header"))]

    def introduction(self):
        """JSON in which every secret stands under a name."""
        names = NAMES[self.protocol]
        own = {name: self.take(f"json-{name}") for name in names}
        again = [{names[0]: number(self.secrets, echo)} for echo in ECHOES if echo not in ("stdout", "stderr")]
        # Only `record` has an option for names of one's own.
        redact = {"customSecret": self.take("redact")} if self.label.startswith("record") else {}
        return {
            **own,
            **redact,
            "again": again,
            "list": {names[0]: [self.take("json-list")]},
            "output": json.dumps({names[0]: self.take("json-in-text")}),
            "headers": {"Authorization": f"Bearer {self.take('json-Authorization')}"},
            "privateKey": self.take("unnamed"),
            "at": f"http://user:{urllib.parse.quote(self.take('userinfo'), safe='')}@127.0.0.1/",
        }

    def values(self):
        """The echoes that are JSON values, each as bytes of JSON in pieces."""
        return [(echo, pieces(echo, self.take(f"echo-{echo}"))) for echo in VALUES]

    def print_later(self):
        """Writes to stdout and stderr what was named in a head before."""
        os.write(2, f"known {self.take('echo-stderr')} known\nunnamed {self.take('output')}\n".encode())
        secret = self.take("echo-stderr-cut").encode()
        os.write(2, b"cut " + secret[:9])
        os.write(2, secret[9:] + b"\n")
        os.write(2, f"env {self.secrets['env']}\n".encode())


def number(secrets, echo):
    """The secret of an echo as it is named: a number where it is one."""
    text = secrets[f"echo-{echo}"]
    return int(text) if echo == "number" else text


def pieces(echo, secret):
    """A JSON value that has the secret in this form, in the pieces in which it is sent."""
    quoted = json.dumps(secret)
    raw = secret.encode()
    if echo == "cut-2":
        return [quoted[:12].encode(), quoted[12:].encode()]
    if echo == "cut-many":
        return [character.encode() for character in quoted]
    text = {
        "whole": quoted,
        "json-escapes": quoted.replace("/", "\\/"),
        "unicode-escapes": '"' + "".join(f"\\u{byte:04x}" for byte in raw) + '"',
        "percent": json.dumps("http://127.0.0.1/?x=" + urllib.parse.quote(secret, safe="")),
        "percent-all": json.dumps("".join(f"%{byte:02X}" for byte in raw)),
        "percent-lower": json.dumps("".join(f"%{byte:02x}" for byte in raw)),
        "nested-json": json.dumps(json.dumps({"k": secret})),
        "member-name": json.dumps({secret: 1}),
        "number": secret,
        "base64": json.dumps(base64.b64encode(raw).decode()),
        "hex": json.dumps(raw.hex()),
    }[echo]
    return [text.encode()]
