"""The forms in which a secret can stand in a file, and finding them."""

import base64
import html
import json
import re
import urllib.parse

# The least bytes of a part of a secret that is sought.
PART = 11


def forms(secret):
    """The forms of a secret: pairs of a name and the bytes to look for."""
    raw = secret.encode()
    escaped = json.dumps(secret)[1:-1]
    found = {
        "clear": raw,
        "JSON-escaped": escaped.encode(),
        "JSON-escaped, /": escaped.replace("/", "\\/").encode(),
        "JSON-escaped twice": json.dumps(escaped)[1:-1].encode(),
        "HTML-escaped": html.escape(secret, quote=True).encode(),
        "percent": urllib.parse.quote(secret, safe="").encode(),
        "percent, lower": re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(secret, safe="")).encode(),
        "percent, all": "".join(f"%{byte:02X}" for byte in raw).encode(),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "\\u": "".join(f"\\u{byte:04x}" for byte in raw).encode(),
        "first part": raw[:PART],
        "last part": raw[-PART:],
    }
    for shift in range(3):
        # The characters that depend on the secret alone, wherever it stands in what is encoded.
        coded = base64.b64encode(b"\0" * shift + raw)
        inner = coded[(0, 2, 3)[shift] : -4]
        found[f"base64 +{shift}"] = inner
        found[f"base64url +{shift}"] = inner.translate(bytes.maketrans(b"+/", b"-_"))
    return found


class Needles:
    """All forms of all secrets."""

    def __init__(self, secrets):
        self.forms = [(name, form, needle) for name, secret in secrets.items() for form, needle in distinct(secret)]

    def find(self, data):
        """What of it stands in these bytes: triples of place, form and some bytes around it."""
        found = []
        for name, form, needle in self.forms:
            at = data.find(needle)
            if at >= 0:
                found.append((name, form, data[max(0, at - 60) : at + len(needle) + 20]))
        return found


def distinct(secret):
    """The forms of a secret without those that are the same bytes as another one."""
    seen = {}
    for form, needle in forms(secret).items():
        seen.setdefault(needle, form)
    return [(form, needle) for needle, form in seen.items()]


def streams(data):
    """If this is a trace, the bytes of each stream in it with its pieces put together; otherwise nothing."""
    if not data.startswith(b'{"version"'):
        return []
    joined = {}
    for line in data.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        for key in ("payload", "bytes", "body", "content", "raw"):
            payload = event.get(key)
            if isinstance(payload, dict):
                stream = (event.get("conn"), event.get("dir"), event.get("kind"), event.get("stream"), key)
                joined.setdefault(stream, bytearray()).extend(plain(payload))
    return [bytes(stream) for stream in joined.values()]


def plain(payload):
    """The bytes of a payload of a trace."""
    if isinstance(payload.get("text"), str):
        return payload["text"].encode("utf-8", "surrogatepass")
    return base64.b64decode(payload.get("base64") or "")
