"""Ways to be wrong that authors of clients have been seen to find. They show that wirecert catches them; copy none.

Each is a client like the right one in all but one thing.
"""

import asyncio
import json
import sys

from client import AmplifierClient, AmplifierError, parsed
from events import Event


class ErrorAsResult(AmplifierClient):
    """The status of a response is not looked at."""

    def result(self, response):
        return parsed(response.content)


class RawPath(AmplifierClient):
    """A profile's name is written into the path as it is."""

    def segment(self, text):
        return text


class RetriesPrompts(AmplifierClient):
    """A prompt that was refused is tried again."""

    async def submitPrompt(self, **params):
        try:
            return await super().submitPrompt(**params)
        except AmplifierError:
            return await super().submitPrompt(**params)


class AllowsEverything(AmplifierClient):
    """What the agent wants to do is allowed without asking anybody."""

    def tell(self, id, event, data):
        super().tell(id, event, data)
        if event == "approval:required":
            decision = self.submitApproval(data["session_id"], decision=data["options"][0])
            self.deciding = asyncio.create_task(decision)


class KeyInHeader(AmplifierClient):
    """The API key goes with every request."""

    key = None

    async def createSession(self, **body):
        self.key = body.get("credentials", {}).get("anthropic_api_key")
        return await super().createSession(**body)

    def headers(self):
        return super().headers() | ({"x-api-key": self.key} if self.key else {})


class LogsKey(AmplifierClient):
    """What is sent is logged, the API key among it."""

    async def createSession(self, **body):
        print("new session", json.dumps(body), file=sys.stderr, flush=True)
        return await super().createSession(**body)


class TrimsDeltas(AmplifierClient):
    """White space around a delta gets lost."""

    def tell(self, id, event, data):
        if isinstance(data, dict) and isinstance(data.get("delta"), str):
            data = {**data, "delta": data["delta"].strip()}
        super().tell(id, event, data)


class DiesOfKeepAlive(AmplifierClient):
    """Every message has to be JSON."""

    def hear(self, id, text):
        json.loads(text)
        return super().hear(id, text)


class DeafBeforeAnswer(AmplifierClient):
    """Events that come before the response to the prompt get lost."""

    deaf = False

    async def submitPrompt(self, **params):
        self.deaf = True
        try:
            return await super().submitPrompt(**params)
        finally:
            self.deaf = False

    def tell(self, id, event, data):
        if not self.deaf:
            super().tell(id, event, data)


class NaiveReader:
    """The stream is cut at every pair of line feeds, and each piece decoded by itself."""

    def __init__(self):
        self.rest = ""

    def feed(self, piece):
        *blocks, self.rest = (self.rest + piece.decode(errors="replace")).split("\n\n")
        for block in blocks:
            if block.startswith("data: "):
                yield Event(block.removeprefix("data: "), "message", None, None)


class NaiveStream(AmplifierClient):
    """As its reader says."""

    def event_reader(self):
        return NaiveReader()


class NoAccept(AmplifierClient):
    """Subscriptions do not say that they want a stream."""

    def stream_headers(self):
        return super().stream_headers() | {"accept": "*/*"}


class NeedsIndex(AmplifierClient):
    """A delta has to have an index."""

    def tell(self, id, event, data):
        if event != "content_block:delta" or "block_index" in data:
            super().tell(id, event, data)


WRONG = {
    "error-as-result": ErrorAsResult,
    "raw-path": RawPath,
    "retries-prompts": RetriesPrompts,
    "allows-everything": AllowsEverything,
    "key-in-header": KeyInHeader,
    "logs-key": LogsKey,
    "trims-deltas": TrimsDeltas,
    "dies-of-keep-alive": DiesOfKeepAlive,
    "deaf-before-answer": DeafBeforeAnswer,
    "naive-stream": NaiveStream,
    "no-accept": NoAccept,
    "needs-index": NeedsIndex,
}
