"""The parts of `tests/codecs/run`."""

from . import event_stream, http, json_texts, websocket

# Each takes the options of the command line, and gives rows.
PARTS = {"websocket": websocket.rows, "event-stream": event_stream.rows, "http": http.rows, "json": json_texts.rows}
