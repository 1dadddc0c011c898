"""`PLACES`: where secrets are planted, and what wirecert promises of each (docs/traces.md, "Secrets")."""

import hashlib
from dataclasses import dataclass

# What is promised of a place.
# wirecert knows the secret, or its name: it must not appear in any form.
HIDDEN = "hidden"
# Nothing sends it: it must not appear either.
NEVER = "never"
# wirecert cannot know it: it is content, and may be shown.
SHOWN = "shown"

# The names under which each protocol has secrets.
NAMES = {
    "amp": ("authToken", "auth"),
    "openctx": (
        "accessToken", "access_token", "apiKey", "apiToken", "api_key", "api_token", "authToken", "clientSecret",
        "client_secret", "password", "refreshToken", "refresh_token", "secret", "token",
    ),
    "amplifier": ("anthropic_api_key", "api_key", "azure_api_key", "openai_api_key"),
}  # fmt: skip
# Headers with credentials, in every protocol, with the scheme before them.
HEADERS = {
    "Authorization": "Bearer ",
    "Proxy-Authorization": "Basic ",
    "Cookie": "",
    "Set-Cookie": "",
    "X-Api-Key": "",
    "Api-Key": "",
}
# How a secret that was named before comes again. The last two are forms that wirecert does not look for.
ECHOES = (
    "whole", "json-escapes", "unicode-escapes", "percent", "percent-all", "percent-lower", "nested-json", "cut-2",
    "cut-many", "error", "member-name", "event-name", "close-reason", "control", "binary", "header", "comment",
    "stdout", "stderr", "stderr-cut", "number", "base64", "hex",
)  # fmt: skip
NOT_SOUGHT = ("base64", "hex")


@dataclass(frozen=True)
class Place:
    """A place for a secret."""

    name: str
    about: str
    promise: str
    protocols: tuple = ("amp", "openctx", "amplifier")


def every():
    """All places, in the order of the table."""
    places = [
        Place("lockfile", "`authToken` of the lockfile of the subject", HIDDEN, ("amp",)),
        Place("other-lockfile", "`authToken` of the lockfile of another editor", HIDDEN, ("amp",)),
        Place("query", "a secret name in the query of a request", HIDDEN),
        Place("url-query", "a secret name in the query of `--url`", HIDDEN, ("openctx",)),
        Place("url-password", "the password in `--url http://user:password@host`", HIDDEN, ("openctx",)),
        Place("settings", "`token` of the settings, which requests carry", HIDDEN, ("openctx",)),
        Place("credentials", "the variable that `credentials: good` names", HIDDEN, ("amplifier",)),
        Place("redact", "a member that `record --redact` names", HIDDEN),
        Place("mock-token", "`--token` of a mock", HIDDEN, ("amp",)),
        Place("replay-secret", "the variable that `replay --secret` names", HIDDEN, ("openctx", "amplifier")),
        Place("user-env", "a variable of the user that nobody reads", NEVER),
        Place("project", "`.env` and `package.json` beside `wirecert.yaml`", NEVER),
    ]
    for name in sorted({name for names in NAMES.values() for name in names}):
        having = tuple(protocol for protocol, names in NAMES.items() if name in names)
        places.append(Place(f"json-{name}", f"JSON member `{name}`", HIDDEN, having))
    for name in HEADERS:
        places.append(Place(f"request-{name}", f"header `{name}` of a request", HIDDEN))
        places.append(Place(f"response-{name}", f"header `{name}` of a response", HIDDEN))
    for echo in ECHOES:
        promise = SHOWN if echo in NOT_SOUGHT else HIDDEN
        places.append(Place(f"echo-{echo}", f"a named one, which comes again: {echo}", promise))
    places += [
        Place("json-list", "a list of texts under a secret name", HIDDEN),
        Place("json-in-text", "a secret name in JSON that is a text of other JSON", HIDDEN),
        Place("early-output", "stderr, before the secret is named", SHOWN),
        Place("unnamed", "JSON member `privateKey`", SHOWN),
        Place("unnamed-header", "header `X-Secret`", SHOWN),
        Place("json-Authorization", "JSON member `Authorization`", SHOWN),
        Place("argument", "an argument of `launch`", SHOWN),
        Place("env", "`env` of `wirecert.yaml`, printed by the subject", SHOWN),
        Place("output", "stderr of the subject, under no name", SHOWN),
        Place("userinfo", "the password in `http://user:password@host`, in a message", SHOWN),
    ]
    return places


def secret(seed, name):
    """The secret of a place: text that no encoding leaves as it is."""
    digits = hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()
    if name in ("echo-number",):
        # A number that every JSON parser keeps.
        return str(10**14 + int(digits[:11], 16) % 10**14)
    if name in ("lockfile", "other-lockfile", "url-query", "url-password", "mock-token") or name.startswith(("request-", "response-")):
        return f"{digits[:14]}/+%{digits[14:26]}=" if "=" not in name else digits
    return f'{digits[:13]}/+"\\&{digits[13:25]}'
