"""Reading an event stream, as the HTML standard has it (section 9.2.6), however its bytes are cut."""

import codecs
import re
from dataclasses import dataclass

LINE_END = re.compile("\r\n|\n|\r")
MAX_LINE = 32 * 1024 * 1024  # Characters. What goes beyond is dropped.


@dataclass
class Event:
    data: str | None
    type: str
    id: str | None
    retry: int | None


class EventReader:
    """Takes pieces in, and gives the events that they complete. What is incomplete at the end of a stream is dropped."""

    def __init__(self):
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self.pieces: list[str] = []
        self.length = 0
        self.after_cr = False
        self.clear()

    def clear(self):
        self.data: list[str] = []
        self.type = ""
        self.id: str | None = None
        self.retry: int | None = None

    def feed(self, piece: bytes):
        text = self.decoder.decode(piece)
        if self.after_cr and text:
            # A line feed belongs to the carriage return before it.
            text = text.removeprefix("\n")
            self.after_cr = False
        start = 0
        for end in LINE_END.finditer(text):
            self.keep(text[start : end.start()])
            start = end.end()
            self.after_cr = start == len(text) and end.group() == "\r"
            line = "".join(self.pieces)
            self.pieces, self.length = [], 0
            if event := self.take(line):
                yield event
        self.keep(text[start:])

    def keep(self, text: str):
        text = text[: MAX_LINE - self.length]
        if text:
            self.pieces.append(text)
            self.length += len(text)

    def take(self, line: str) -> Event | None:
        if line:
            field, _, value = line.partition(":")
            self.field(field, value.removeprefix(" "))
            return None
        event = Event("\n".join(self.data) if self.data else None, self.type or "message", self.id, self.retry)
        self.clear()
        return event

    def field(self, field: str, value: str):
        if field == "data":
            self.data.append(value)
        elif field == "event":
            self.type = value
        elif field == "id" and "\0" not in value:
            self.id = value
        elif field == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value)
