"""The ways in which this server can be made wrong: `--wrong NAME`. Each is one that servers like it are known for."""

KNOWN = {
    "detail-errors": "errors stand under `detail`, as the framework has it",
    "unprocessable": "bodies that do not fit are refused with 422, as the framework has it",
    "prompt-200": "a prompt is answered with 200, the framework's default",
    "naive-times": "times have no offset from UTC",
    "json-keep-alive": "streams are kept alive by messages of another kind",
    "event-names": "events come under their names as event types",
    "one-queue": "all subscribers of a session read from one queue",
    "leaky-gate": "an approval that nobody decides about any more counts as given",
    "any-case": "decisions are compared without their case",
    "echoes-input": "errors tell what was sent, with its API key",
    "slashes": "collections of things are found below a slash, and redirected to",
    "late-head": "a stream is answered with its first event",
    "tracebacks": "what is not there is a KeyError, and its traceback the response",
    "busy-404": "a session that is busy is said not to exist",
    "awaits-agent": "a prompt is answered when it is complete",
    "tied-to-request": "a prompt ends with the stream of whoever followed it",
    "default-allows": "a decision that never came counts as given",
    "logs-bodies": "what is posted is printed",
    "no-limit": "all sessions are listed",
    "bare-lists": "lists are answered as lists",
    "any-session": "a decision is taken for whatever approval is pending",
    "double-json": "events are encoded twice",
    "binary-messages": "WebSockets carry bytes",
    "unwatched-socket": "the agent's work is done before a WebSocket is read again",
}

_chosen = None


def choose(name):
    """Makes the server wrong in this way."""
    global _chosen
    _chosen = name


def wrong(name):
    """Whether the server is wrong in this way."""
    assert name in KNOWN, name
    return name == _chosen
