"""A client of AMP: finds the editor, asks it, and hears from it.

    client = AmpClient("cli", on_notification=print)
    text = await client.request("readFile", {"path": "/home/me/project/a.txt"})
    await client.close()
"""

import asyncio
import json
import time
from collections.abc import Callable
from urllib.parse import quote

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from discovery import Discovery, Editor
from editions import EDITIONS, AmpError, outcome

MAX_MESSAGE = 64 * 1024 * 1024  # Bytes. The library's own bound of 1 MiB is less than many a file has.


class Session:
    """One connection: requests go out, and answers find the requests that they belong to."""

    def __init__(self, socket: ClientConnection, edition: type, timeout: float, notify: Callable[[str, object], None]):
        self.socket = socket
        self.edition = edition
        self.timeout = timeout
        self.notify = notify
        self.count = 0
        self.open: dict[object, tuple[str, asyncio.Future]] = {}

    async def request(self, method: str, params: dict) -> object:
        """Any number may be under way at a time. Raises AmpError."""
        id = self.next_id()
        answer = asyncio.get_running_loop().create_future()
        self.open[id] = (method, answer)
        try:
            async with asyncio.timeout(self.timeout):
                await self.send({"clientRequest": self.edition.request(id, method, params)})
                return await answer
        except TimeoutError:
            raise AmpError(f"the editor did not answer {method} within {self.timeout:g} s") from None
        except ConnectionClosed:
            raise AmpError("the connection to the editor ended") from None
        finally:
            self.open.pop(id, None)

    def next_id(self) -> object:
        self.count += 1
        return str(self.count)  # A string: editors need not find numbers.

    async def send(self, message: dict) -> None:
        await self.socket.send(json.dumps(message))  # A `str` goes as text, `bytes` would go as binary.

    async def listen(self) -> None:
        """Takes what the editor sends, until the connection ends."""
        try:
            async for text in self.socket:
                self.take(text)
        except ConnectionClosed:
            pass
        for _, answer in self.open.values():
            if not answer.done():
                answer.set_exception(AmpError("the connection to the editor ended"))

    def take(self, text: str | bytes) -> None:
        """What makes no sense is passed over: one bad message does not spoil the others."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        if isinstance(response := message.get("serverResponse"), dict):
            self.answer(response)
        elif isinstance(body := message.get("serverNotification"), dict):
            self.tell(body)

    def answer(self, response: dict) -> None:
        id = response.get("id")
        if not isinstance(id, str) or id not in self.open:
            return  # Too late, for the second time, or for nobody.
        method, answer = self.open[id]
        if answer.done():
            return
        try:
            answer.set_result(outcome(self.edition, response, method))
        except AmpError as error:
            answer.set_exception(error)

    def tell(self, body: dict) -> None:
        named = self.edition.notification(body)
        if isinstance(named, dict):
            for name in self.edition.notifications & named.keys():
                self.notify(name, named[name])


class AmpClient:
    """Keeps a connection to the editor, and finds it again when it was away.

    `on_state` hears `connected`, `disconnected`, `reconnecting` and `no_server`. Times are in seconds: how long an
    answer may take, how long a call waits for a connection, how often one is tried, and how long without success until
    that is given up; the next call begins it anew.
    """

    session_type = Session

    def __init__(
        self,
        edition: str,
        *,
        discovery: Discovery | None = None,
        timeout: float = 2.0,
        wait: float = 5.0,
        retry: float = 1.0,
        give_up: float = 30.0,
        on_notification: Callable[[str, object], None] = lambda name, data: None,
        on_state: Callable[[str], None] = lambda state: None,
    ):
        self.edition = EDITIONS[edition]
        self.discovery = discovery or Discovery(edition)
        self.timeout, self.wait, self.retry, self.give_up = timeout, wait, retry, give_up
        self.on_notification, self.on_state = on_notification, on_state
        self.state = None
        self.session: Session | None = None
        self.connected = asyncio.Event()
        self.task: asyncio.Task | None = None
        self.editor: Editor | None = None
        self.closing = False

    def start(self) -> None:
        """Begins to look for the editor, unless it does already."""
        if not self.closing and (self.task is None or self.task.done()):
            self.task = asyncio.create_task(self.stay_connected())

    async def request(self, method: str, params: dict) -> object:
        """What the editor answers. Waits for a connection before. Raises AmpError."""
        self.start()
        try:
            async with asyncio.timeout(self.wait):
                await self.connected.wait()
        except TimeoutError:
            raise AmpError("no editor was found") from None
        return await self.session.request(method, params)

    async def close(self) -> None:
        """Ends the connection as a good client does: by a close frame."""
        self.closing = True
        if self.session is not None:
            await self.session.socket.close()
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])
        self.tell_state("disconnected")

    async def stay_connected(self) -> None:
        until = time.monotonic() + self.give_up
        while not self.closing and time.monotonic() < until:
            socket = await self.open()
            if socket is not None:
                await self.serve(socket)
                until = time.monotonic() + self.give_up
            elif self.editor is None:
                self.tell_state("no_server")
            if not self.closing:
                await asyncio.sleep(self.retry)
        if not self.closing:
            self.tell_state("no_server")

    async def open(self) -> ClientConnection | None:
        """A connection to the first editor that lets us in."""
        for editor in self.discovery.editors(self.editor):
            try:
                socket = await connect(
                    self.url(editor),
                    open_timeout=self.timeout,
                    close_timeout=0.5,  # Whoever quits does not wait for an editor that hangs.
                    max_size=MAX_MESSAGE,
                    proxy=None,  # It is on this machine, whatever the environment says about proxies.
                )
            except (OSError, WebSocketException):
                continue  # Nobody there, not what it seemed, or not for us.
            self.editor = editor
            return socket
        return None

    def url(self, editor: Editor) -> str:
        return f"ws://{self.edition.host}:{editor.port}/?auth={self.encoded(editor.token)}"

    def encoded(self, token: str) -> str:
        return quote(token, safe="")  # Without `safe`, slashes stay as they are.

    async def serve(self, socket: ClientConnection) -> None:
        self.session = self.session_type(socket, self.edition, self.timeout, self.on_notification)
        self.connected.set()
        self.tell_state("connected")
        try:
            await self.session.listen()
        finally:
            self.connected.clear()
            self.session = None
        self.tell_state("disconnected")
        if not self.closing:
            self.tell_state("reconnecting")

    def tell_state(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.on_state(state)
