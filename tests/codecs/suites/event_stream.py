"""Event streams: the grammar of the HTML standard (section 9.2.6), with `eventsource` of node as a second opinion."""

import json
import os
import random
import subprocess

from . import tools

BOM = b"\xef\xbb\xbf"
# Streams, and what the rule is.
RULES = {
    "byte order mark": [
        (BOM + b"data: a\n\n", "one at the beginning is no part of the first line"),
        (BOM + BOM + b"data: a\n\ndata: b\n\n", "a second one is"),
        (b"data: a\n\n" + BOM + b"data: b\n\ndata: c\n\n", "one later is"),
        (b"\n" + BOM + b"data: b\n\ndata: c\n\n", "one after an empty line is"),
        (b"\xef\xbbdata: a\n\ndata: b\n\n", "a part of one is"),
        (BOM, "alone it is an empty stream"),
    ],
    "line ends": [
        (b"data: a\n\n", "line feed"),
        (b"data: a\r\r", "carriage return"),
        (b"data: a\r\n\r\n", "both"),
        (b"data: a\r\n\n", "both, and then a line feed"),
        (b"data: a\n\r\n", "a line feed, and then both"),
        (b"data: a\r\r\n", "a carriage return, and then both"),
        (b"data: a\n\rdata: b\r\ndata: c\r\n\r\n", "mixed"),
        (b"data: a\x0bdata: b\x0cdata: c\xc2\x85data: d\xe2\x80\xa8e\n\n", "no other character ends a line"),
    ],
    "comments": [
        (b": c\ndata: a\n\n", "before"),
        (b"data: a\n: c\ndata: b\n\n", "between lines of data"),
        (b":\n:\n\n:\ndata: a\n\n", "empty"),
        (b":data: a\n\ndata: b\n\n", "one that looks like a field"),
        (b" :c\ndata: a\n\n", "a space before the colon is a field"),
    ],
    "fields": [
        (b"data\n\n", "without a colon: the value is empty"),
        (b"data\ndata\n\n", "twice without a colon: a line feed"),
        (b"data:\n\n", "with an empty value"),
        (b"data:a\n\n", "without a space"),
        (b"data: a\n\n", "one space is removed"),
        (b"data:  a\n\n", "only one space is removed"),
        (b"data:\ta\n\n", "a tab is not"),
        (b"data:a:b\n\n", "the first colon separates"),
        (b"data::a\n\n", "a colon in the value"),
        (b" data: a\n\ndata: b\n\n", "a space before the name makes another name"),
        (b"data : a\n\ndata: b\n\n", "so does one after it"),
        (b"Data: a\n\ndata: b\n\n", "the case of names counts"),
        (b"other: a\nother\ndata: b\n\n", "unknown names are ignored"),
        (b"data: a\ndata: b\ndata: c\n\n", "data is joined with line feeds"),
        (b"data: a\ndata\ndata: c\n\n", "also empty data"),
        (b"event: x\ndata: a\n\ndata: b\n\n", "a type is of one event"),
        (b"event: x\nevent: y\ndata: a\n\n", "the last type counts"),
        (b"event: x\nevent:\ndata: a\n\n", "an empty type is `message`"),
        (b"event\ndata: a\n\n", "a type without a colon is `message`"),
        (b"event: x\n\ndata: a\n\n", "without data nothing is dispatched, and the type is gone"),
    ],
    "id": [
        (b"id: 1\ndata: a\n\ndata: b\n\n", "it stays for later events"),
        (b"id: 1\ndata: a\n\nid\ndata: b\n\n", "an empty one resets it"),
        (b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", "one with NUL is ignored"),
        (b"id: 1\n\ndata: a\n\n", "one in a block without data counts"),
        (b"id: 1\nid: 2\ndata: a\n\n", "the last one counts"),
        (b"data: a\nid: 1\n\n", "it may come after the data"),
        (b"id:  1\ndata: a\n\n", "one space is removed"),
        (b"id: \xff\ndata: a\n\n", "it may be no UTF-8"),
    ],
    "retry": [
        (b"retry: 10\ndata: a\n\n", "digits"),
        (b"retry: 1x\ndata: a\n\n", "no digits: ignored"),
        (b"retry: -1\ndata: a\n\n", "a sign: ignored"),
        (b"retry: +1\ndata: a\n\n", "a plus: ignored"),
        (b"retry: 1.5\ndata: a\n\n", "a fraction: ignored"),
        (b"retry:  1\ndata: a\n\n", "two spaces: ignored"),
        (b"retry: 1 \ndata: a\n\n", "a space after it: ignored"),
        (b"retry:\ndata: a\n\n", "empty: ignored"),
        (b"retry: \xd9\xa1\ndata: a\n\n", "a digit that is no ASCII: ignored"),
        (b"retry: 007\ndata: a\n\n", "zeros before it"),
        (b"retry: 99999999999999999999999\ndata: a\n\n", "a huge one"),
    ],
    "dispatch": [
        (b"data: a", "an incomplete line at the end is dropped"),
        (b"data: a\n", "so is an event without an empty line"),
        (b"data: a\n\ndata: b\n", "the ones before it stay"),
        (b"\n\n\n", "empty lines alone dispatch nothing"),
        (b"", "an empty stream"),
        (b"data: a\n\n\n\ndata: b\n\n", "more empty lines dispatch nothing"),
        (b"data: a\n \ndata: b\n\n", "a line with a space is not empty"),
    ],
    "UTF-8": [
        (b"data: \xff\n\n", "a byte that is no UTF-8"),
        (b"data: \xe2\x82\n\n", "a character that is cut by a line end"),
        (b"data: \xed\xa0\x80\n\n", "a surrogate"),
        (b"data: \xf4\x90\x80\x80\n\n", "beyond the last character"),
        (b"data: \xc0\xaf\n\n", "an overlong form"),
        ("data: ü𝄞☃\n\n".encode(), "characters of two to four bytes"),
        (b"data: \0\n\n", "a NUL in data"),
        (b"da\xfeta: a\n\ndata: b\n\n", "a name that is no UTF-8"),
    ],
}
# Pieces of which streams are made at random.
PIECES = [b"\r", b"\n", b"\r\n", b":", b" ", b"data", b"data:", b"data: ", b"id: ", b"id", b"event: ", b"retry: ", b"7"]
PIECES += [BOM, "ü".encode(), "𝄞".encode(), b"\0", b"x", b"\xff", b"\xe2\x82", b"\n\n", b"data: y\n\n"]
RANDOM_STREAMS = 400


def rows(options):
    """All results of this part."""
    named = [(group, f"{data!r}: {rule}", data) for group, rules in RULES.items() for data, rule in rules]
    named += [("random streams", f"{data!r}", data) for data in random_streams(options.seed)]
    streams = [data for _, _, data in named]
    # Each stream at once, byte by byte, and cut at each single place.
    served = [[data] for data in streams]
    served += [[data[i : i + 1] for i in range(len(data))] for data in streams]
    owner = list(range(len(streams))) * 2
    for number, (group, _, data) in enumerate(named):
        if group != "random streams":
            cuts = [[data[:at], data[at:]] for at in range(1, len(data))]
            served += cuts
            owner += [number] * len(cuts)
    ours = read_by_wirecert(options, served)
    theirs = read_by_node(streams)
    found = {}
    for number, events in zip(owner, ours):
        found.setdefault(number, []).append(events)
    for number, (group, case, data) in enumerate(named):
        expected = dispatched(fields(data))
        wrong = next((events for events in found[number] if events != expected), None)
        yield tools.judged("event stream", group, case, expected, expected if wrong is None else wrong)
        if theirs[number] != expected:
            # The second opinion is another one: a row of its own.
            yield tools.Row("event stream, node", group, case, str(expected), str(theirs[number]), "choice")


def random_streams(seed):
    """Streams that are likely to go wrong."""
    draw = random.Random(seed)
    return [b"".join(draw.choices(PIECES, k=draw.randint(1, 24))) for _ in range(RANDOM_STREAMS)]


# A reader that follows the text of the standard, as a third opinion.


def fields(data):
    """The lines of a stream as pairs of name and value; an empty line is none."""
    text = data.decode("utf-8", errors="replace")
    if data.startswith(BOM):
        text = text[1:]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    # What comes after the last line end is no line.
    for line in lines[:-1]:
        if line == "":
            yield None
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            yield name, value[1:] if value.startswith(" ") else value


def dispatched(pairs):
    """The events: type, data, last id, and the reconnection time."""
    events, last_id, id_buffer, retry = [], "", "", None
    kind, data = "", ""
    for pair in pairs:
        if pair is None:
            last_id = id_buffer
            if data:
                events.append([kind or "message", data[:-1], last_id, retry])
            kind, data = "", ""
            continue
        name, value = pair
        if name == "event":
            kind = value
        elif name == "data":
            data += value + "\n"
        elif name == "id" and "\0" not in value:
            id_buffer = value
        elif name == "retry" and value and all("0" <= digit <= "9" for digit in value):
            retry = min(int(value), (1 << 64) - 1)
    return events


# wirecert's reader, in the recorder.


class Server(tools.Listener):
    """Serves streams: `/N` is the stream of this number, a chunk for each piece. Ends with the block."""

    def __init__(self, streams, chunked):
        self.streams, self.chunked = streams, chunked
        super().__init__()

    def serve(self, stream):
        """Answers the requests of a connection."""
        with stream, stream.makefile("rb") as requests:
            while line := requests.readline():
                while requests.readline() not in (b"\r\n", b""):
                    pass
                pieces = self.streams[int(line.split()[1].rpartition(b"/")[2])]
                stream.sendall(self.response(pieces))
                if not self.chunked:
                    return

    def response(self, pieces):
        """The bytes of a response with the pieces of a stream."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        if not self.chunked:
            return head + b"Connection: close\r\n\r\n" + b"".join(pieces)
        chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece]
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"


def read_by_wirecert(options, streams):
    """The events that the recorder finds in each stream."""
    with tools.folder() as folder, Server(streams, chunked=True) as server:
        trace = os.path.join(folder, "streams.trace")
        tools.record_responses(options, "amplifier", server.port, trace, len(streams))
        return list(events_of(trace, len(streams)))


def events_of(trace, count):
    """The events of each exchange of a trace as `dispatched` gives them."""
    found = [[] for _ in range(count)]
    exchanges, state = {}, {}
    for event in tools.events(trace):
        name = event.get("conn")
        if event["kind"] == "http_request":
            exchanges[name] = int(event["start"].split()[1].rpartition("/")[2])
            state[name] = ["", None]
        elif event["kind"] == "stream_event" and "comment" not in event:
            last = state[name]
            last[0] = event.get("id", last[0])
            last[1] = event.get("retry", last[1])
            if event.get("data") is not None:
                found[exchanges[name]].append([event.get("event") or "message", event["data"], *last])
    return found


# Node's reader.


def read_by_node(streams):
    """The events that `eventsource` of node dispatches for each stream."""
    with Server([[data] for data in streams], chunked=False) as server:
        program = os.path.join(tools.PROGRAMS, "event_source.mjs")
        command = ["node", program, f"http://127.0.0.1:{server.port}", str(len(streams))]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return [json.loads(line) for line in done.stdout.split("\n") if line]
