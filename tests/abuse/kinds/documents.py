"""JSON that is misshapen: `DOCUMENTS`, each a way to write a value, for every place where JSON is sent."""

import json
from collections import namedtuple

from .kind import CONFORMS, INCOMPLETE, UNREACHED, VIOLATED, kind

# A way to write JSON wrongly, or in a way that hurts a careless reader; `write` makes bytes of an object.
Document = namedtuple("Document", ["name", "about", "write"])


def added(member):
    """The value with one more member, which is written already."""
    return lambda value: json.dumps(value).encode()[:-1] + b', "abuse": ' + member() + b"}"


def replaced(old, new):
    """The value with something put at its beginning or end."""
    return lambda value: old + json.dumps(value).encode() + new


def last_string(text):
    """The value, with its last string replaced by what is written already."""

    def write(value):
        def walk(at):
            if isinstance(at, dict):
                return {k: walk(v) for k, v in at.items()}
            return "@@" if isinstance(at, str) and at else at

        return json.dumps(walk(value)).encode().replace(b'"@@"', text)

    return write


DOCUMENTS = [
    Document("deep-lists", "is nested 100,000 lists deep", added(lambda: b"[" * 100_000 + b"]" * 100_000)),
    Document(
        "deep-objects", "is nested 100,000 objects deep", added(lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
    ),
    Document("deep-open", "opens a million lists and closes none", lambda value: b"[" * 1_000_000),
    Document("million-digits", "has a number of a million digits", added(lambda: b"9" * 1_000_000)),
    Document("million-fraction", "has a number with a million decimals", added(lambda: b"0." + b"1" * 1_000_000)),
    Document("huge-exponent", "has the number 1e999999999", added(lambda: b"1e999999999")),
    Document(
        "duplicate-keys",
        "has every member twice, with different values",
        lambda value: b"{"
        + json.dumps(value).encode()[1:-1]
        + b","
        + json.dumps({k: None for k in value}).encode()[1:-1]
        + b","
        + json.dumps(value).encode()[1:-1]
        + b"}",
    ),
    Document(
        "many-keys", "has 200,000 members", added(lambda: json.dumps({f"k{n}": n for n in range(200_000)}).encode())
    ),
    Document("many-values", "has 5,000,000 values", added(lambda: b"[" + b"0," * 5_000_000 + b"0]")),
    Document(
        "many-same-keys", "has the same member 200,000 times", added(lambda: b"{" + b'"k":1,' * 200_000 + b'"k":1}')
    ),
    Document("long-string", "has a string of 20 MB", added(lambda: b'"' + b"x" * (20 << 20) + b'"')),
    Document("many-escapes", "has a string of a million escapes", added(lambda: b'"' + b"\\u0041" * 1_000_000 + b'"')),
    Document(
        "lone-surrogates", "has strings with unpaired surrogates", last_string(b'"\\ud800\\udc00\\ud800 \\udfff"')
    ),
    Document("nul", "has strings with NULs and control characters", last_string(b'"\\u0000\\u001b[2J\\u0007\\u202e"')),
    Document("raw-nul", "has NULs between its tokens", lambda value: json.dumps(value).encode().replace(b" ", b"\0")),
    Document("latin-1", "is no UTF-8", last_string(b'"gr\xfc\xdfe"')),
    Document("overlong", "has overlong and surrogate UTF-8", last_string(b'"\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"')),
    Document("utf-16", "is written in UTF-16", lambda value: json.dumps(value).encode("utf-16")),
    Document("bom", "begins with a byte order mark", replaced(b"\xef\xbb\xbf", b"")),
    Document("trailing", "has more after its end", replaced(b"", b" {} ] garbage")),
    Document("nan", "has NaN and Infinity", added(lambda: b"[NaN, Infinity, -Infinity]")),
    Document("white-space", "has 10 MB of white space", replaced(b" " * (10 << 20), b"")),
    Document("empty", "is empty", lambda value: b""),
    Document("cut", "ends in the middle", lambda value: json.dumps(value).encode()[:-3]),
]

EVERYWHERE = ("amp-server", "openctx-provider", "amplifier-server", "amp-client", "openctx-client")
ANY = {CONFORMS, VIOLATED, UNREACHED, INCOMPLETE}


# What has very many values takes many times its length.
MANY = {"peak": 2000, "bound": 180}


def bounds(document):
    """The bounds of a kind that sends this document, where they are not the usual ones."""
    return MANY if document.name.startswith("many-") else {}


# Some documents have other values, or none at all.
ACCUSED = ("framing/*", "envelope/*", "http/*", "ping/*", "health/*", "info/*", "meta/*")


def sent(document):
    """A kind that sends this document wherever the role sends JSON."""

    @kind(
        f"json-{document.name}",
        EVERYWHERE,
        "json",
        f"sends JSON that {document.about}",
        codes=ANY,
        timeout="3s",
        accused=ACCUSED,
        **bounds(document),
    )
    def write(value):
        return document.write(value)


for one in DOCUMENTS:
    sent(one)
