"""The parts of `tests/codecs/run`."""

from . import event_stream, websocket

# Each takes the options of the command line, and gives rows.
PARTS = {"websocket": websocket.rows, "event-stream": event_stream.rows}
