"""Inputs of any size, to find out whether the time of a reader grows faster than its input."""

from . import seeds

# Bytes of the smaller input, and how many times as large the other one is.
SIZE, TIMES = 32 << 10, 4
# A reader is told if the time grows by more than this for `TIMES` times the input.
BOUND = 8.0


def repeated(text, before=b"", after=b""):
    """Inputs of a text that is repeated."""
    return lambda size: before + text * (size // len(text)) + after


HEADER = (
    b'{"version":1,"suite":"x","protocol":"amp","edition":"cli","client":{"is":"unknown"},"server":{"is":"unknown"},'
    b'"clock":{"unit":"us","start":"2026-01-01T00:00:00Z"}}\n'
)


def trace(line):
    """A trace with many events of this kind."""

    def make(size):
        count = size // len(line)
        return HEADER + b"".join(b'{"i":%d,"t":%d,"conn":"c1",%s}\n' % (i, i, line) for i in range(count))

    return make


def numbered(form, before=b""):
    """Inputs of a text with a number in it, for keys that differ."""
    return lambda size: before + b"".join(form % i for i in range(size // len(form)))


def connection(way, text, before=()):
    """A connection in which this text is repeated in this direction."""
    return lambda size: seeds.pieces([*before, (way, text * (size // len(text)))])


SCENARIO = b"wirecert: 1\nrole: amp-server\ntitle: t\nsteps:\n"
ASK = (0, b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
ACCEPTED = (1, b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
CHUNKED = (1, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
PLAIN = (0, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
# By reader and kind.
GROWING = {
    "scenario": {
        "steps": repeated(b"  - ping: {}\n", SCENARIO),
        "wrong steps": repeated(b"  - nothing: {}\n", SCENARIO),
        "keys": numbered(b"k%06d: 1\n"),
        "one key again": repeated(b"a: 1\n"),
        "a list in a list": repeated(b"["),
        "a map in a map": repeated(b"{a: "),
        "a long text": repeated(b"x", b"title: "),
        "quotes": repeated(b"\\n", b'title: "', b'"'),
        "comments": repeated(b"#\n"),
        "aliases": repeated(b"- *a\n", b"- &a x\n"),
        "documents": repeated(b"---\n"),
    },
    "subject": {"keys": numbered(b"k%06d: 1\n"), "stimuli": numbered(b"  s%06d: [a]\n", b"role: amp-server\nstimuli:\n")},
    "baseline": {
        "entries": repeated(b"- requirement: amp/cli/framing/utf8\n  reason: x\n"),
        "wrong entries": repeated(b"- requirement: no\n"),
    },
    "trace": {
        "messages": trace(b'"dir":"c2s","kind":"message","text":true,"json":{"clientRequest":{"id":"1","ping":{"message":"x"}}},"frames":1'),
        "frames": trace(b'"dir":"c2s","kind":"frame","fin":true,"rsv":0,"opcode":9,"masked":true,"length":1,"payload":{"text":"x"}'),
        "bytes": trace(b'"dir":"c2s","kind":"bytes","bytes":{"text":"x"}'),
        "a long line": repeated(b"x", HEADER + b'{"i":0,"t":0,"kind":"mark","mark":"a","text":"'),
        "nesting": repeated(b"[", HEADER + b'{"i":0,"t":0,"kind":"message","json":'),
    },
    "report": {"notes": repeated(b'{"text":"x"},', b'{"version":1,"notes":['), "nesting": repeated(b"[")},
    "script": {
        "steps": repeated(b"  - do: { quit: {} }\n", b"wirecert: 1\nsteps:\n"),
        "prompts": repeated(b"  - do: [{ say: x }]\n", b"wirecert: 1\nprompts:\n"),
    },
    "data": {"mentions": repeated(b"  - title: x\n    uri: a:b\n", b"wirecert: 1\nmentions:\n")},
    "lockfile": {"folders": repeated(b'"/a",', b'{"port":1,"workspaceFolders":["'), "nesting": repeated(b"[")},
    "http": {
        "requests": connection(0, PLAIN[1]),
        "responses": connection(1, b"HTTP/1.1 204 No\r\n\r\n", [PLAIN]),
        "interim responses": connection(1, b"HTTP/1.1 100 Go\r\n\r\n", [PLAIN]),
        "chunks": connection(1, b"1\r\nx\r\n", [PLAIN, CHUNKED]),
        "extensions": connection(1, b";a=b", [PLAIN, CHUNKED, (1, b"1")]),
        "trailers": connection(1, b"A: b\r\n", [PLAIN, CHUNKED, (1, b"0\r\n")]),
        "header lines": connection(0, b"A: b\r\n", [(0, b"GET / HTTP/1.1\r\n")]),
        "empty lines": connection(0, b"\r\n"),
        "events": connection(1, b"data: x\n\n", [PLAIN, (1, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")]),
    },
    "websocket": {
        "frames": connection(0, seeds.FRAMES[1], [ASK, ACCEPTED]),
        "fragments": connection(0, seeds.frame(0, b"x", b"abcd", fin=False), [ASK, ACCEPTED, (0, b"\x01\x80abcd")]),
        "handshakes": connection(0, ASK[1]),
        "refusals": connection(1, b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", [ASK]),
    },
    "frames": {"frames": repeated(seeds.FRAMES[1]), "a long frame": repeated(b"x", b"\x82\x7f\0\0\0\0\0\xff\0\0")},
    "events": {
        "events": repeated(b"data: x\n\n", b"\0"),
        "lines": repeated(b"data: x\n", b"\0"),
        "a long line": repeated(b"x", b"\0data: "),
        "comments": repeated(b":\n", b"\0"),
        "carriage returns": repeated(b"\r", b"\0"),
    },
}
