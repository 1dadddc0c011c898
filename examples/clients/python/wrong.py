"""Ways to be wrong that authors of clients have been seen to find. They show that wirecert catches them; copy none.

Each is a client like the right one in all but one thing.
"""

import asyncio
import json

from client import AmpClient, Session
from discovery import Discovery


class NumberIds(Session):
    """Ids are numbers."""

    async def send(self, message):
        request = message["clientRequest"]
        await super().send({"clientRequest": {**request, "id": int(request["id"])}})

    def answer(self, response):
        super().answer({**response, "id": str(response.get("id"))})


class SameId(Session):
    """Every request has the same id."""

    def next_id(self):
        return "1"


class FirstAnswer(Session):
    """Whatever answer comes is taken for that of every open call."""

    def answer(self, response):
        for id in list(self.open):
            super().answer({**response, "id": id})


class ErrorAsResult(Session):
    """An error is handed on as if it were a result."""

    def answer(self, response):
        _, answer = self.open.get(str(response.get("id")), (None, None))
        if "error" in response and answer is not None and not answer.done():
            answer.set_result(response["error"])
        else:
            super().answer(response)


class OneAtATime(Session):
    """A call waits until the one before it is answered."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.turn = asyncio.Lock()

    async def request(self, method, params):
        async with self.turn:
            return await super().request(method, params)


class DropsNotificationsWhileOpen(Session):
    """While a call is open, only its response is listened for."""

    def tell(self, body):
        if not self.open:
            super().tell(body)


class BinaryFrames(Session):
    """Requests are sent as binary data."""

    async def send(self, message):
        await self.socket.send(json.dumps(message).encode())


class DiesOfBadJson(Session):
    """A message that is no JSON ends the program."""

    def take(self, text):
        try:
            json.loads(text)
        except ValueError:
            raise SystemExit("a message is no JSON") from None
        super().take(text)


class NoPidCheck(Discovery):
    """Lockfiles of dead editors count."""

    def is_alive(self, pid):
        return True


class NoFolderCheck(Discovery):
    """Editors that have other folders open count."""

    def in_this_folder(self, editors):
        return editors[:1]


class RawToken(AmpClient):
    """The token is put into the URL as it is."""

    def encoded(self, token):
        return token


class NoTimeout(AmpClient):
    """A response is waited for without end."""

    def __init__(self, edition, **options):
        super().__init__(edition, **{**options, "timeout": None})


class NoReconnect(AmpClient):
    """When the connection has ended, there is never another one."""

    async def serve(self, socket):
        await super().serve(socket)
        self.closing = True


def with_discovery(discovery):
    return lambda edition, **options: AmpClient(edition, discovery=discovery(edition), **options)


def with_session(session):
    return type(session.__name__, (AmpClient,), {"session_type": session})


WRONG = {
    "number-ids": with_session(NumberIds),
    "same-id": with_session(SameId),
    "first-answer": with_session(FirstAnswer),
    "error-as-result": with_session(ErrorAsResult),
    "one-at-a-time": with_session(OneAtATime),
    "drops-notifications-while-open": with_session(DropsNotificationsWhileOpen),
    "binary-frames": with_session(BinaryFrames),
    "dies-of-bad-json": with_session(DiesOfBadJson),
    "dead-pid": with_discovery(NoPidCheck),
    "any-folder": with_discovery(NoFolderCheck),
    "raw-token": RawToken,
    "no-timeout": NoTimeout,
    "no-reconnect": NoReconnect,
}
