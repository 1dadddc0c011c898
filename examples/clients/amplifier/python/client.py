"""A client of Amplifier servers: requests and event streams on `httpx`, WebSockets on `websockets`."""

import asyncio
import json
from collections.abc import Callable
from urllib.parse import quote

import httpx
import websockets

from events import Event, EventReader

PATIENCE = httpx.Timeout(30.0)  # Seconds. No response of the document takes long.
FOREVER = httpx.Timeout(30.0, read=None)  # A stream may be silent as long as it likes.
RETRY = 1.0  # Seconds before a stream is subscribed to again, where the server does not say.
MOST_RETRY = 30.0


class AmplifierError(Exception):
    def __init__(self, message: str, code: str | None = None, status: int | None = None):
        super().__init__(message)
        self.code = code
        self.status = status


class Subscription:
    """What follows one session: its task, and a WebSocket if it goes over one."""

    def __init__(self, task: asyncio.Task, socket=None):
        self.task = task
        self.socket = socket

    async def close(self):
        if self.socket is not None:
            await self.socket.close()
        self.task.cancel()
        await asyncio.wait([self.task])


class AmplifierClient:
    def __init__(self, url: str, on_event: Callable = lambda *_: None, on_state: Callable = lambda _: None):
        self.url = url.rstrip("/")
        self.on_event = on_event
        self.on_state = on_state
        # Streams stay open: they take connections that nobody else can have.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=16, keepalive_expiry=1.0)
        self.http = httpx.AsyncClient(timeout=PATIENCE, limits=limits, trust_env=False)
        self.subscriptions: dict[int, Subscription] = {}
        self.last = 0

    async def createSession(self, **body):
        return await self.request("POST", "/sessions", json=body)

    async def submitPrompt(self, session_id, **body):
        return await self.request("POST", f"{self.session(session_id)}/prompt", json=body)

    async def submitApproval(self, session_id, **body):
        return await self.request("POST", f"{self.session(session_id)}/approval", json=body)

    async def getSession(self, session_id):
        return await self.request("GET", self.session(session_id))

    async def deleteSession(self, session_id):
        return await self.request("DELETE", self.session(session_id))

    async def listSessions(self, **query):
        return await self.request("GET", "/sessions", params=given(query))

    async def listProfiles(self, **query):
        return await self.request("GET", "/profiles", params=given(query))

    async def getProfile(self, name):
        return await self.request("GET", f"/profiles/{self.segment(name)}")

    async def listCollections(self):
        return await self.request("GET", "/collections")

    async def listAgents(self, **query):
        return await self.request("GET", "/agents", params=given(query))

    async def health(self):
        return await self.request("GET", "/health")

    async def info(self):
        return await self.request("GET", "/info")

    async def subscribe(self, session_id, transport="sse"):
        """Follows the events of a session. It returns once the server has answered: what happens from then on is reported."""
        self.last += 1
        id = self.last
        if transport == "ws":
            subscription = await self.open_socket(id, session_id)
        else:
            opened = asyncio.get_running_loop().create_future()
            subscription = Subscription(asyncio.create_task(self.follow(id, session_id, opened)))
            await opened
        self.subscriptions[id] = subscription
        return {"subscription": id}

    async def unsubscribe(self, subscription):
        if found := self.subscriptions.pop(subscription, None):
            await found.close()

    async def control(self, subscription, message):
        found = self.subscriptions.get(subscription)
        if found is None or found.socket is None:
            raise AmplifierError("there is no such WebSocket")
        try:
            await found.socket.send(json.dumps(message))
        except websockets.ConnectionClosed as error:
            raise AmplifierError(f"the WebSocket is closed: {error}") from None

    async def close(self):
        await asyncio.gather(*(subscription.close() for subscription in self.subscriptions.values()))
        await self.http.aclose()

    def session(self, id: str) -> str:
        return f"/sessions/{self.segment(id)}"

    def segment(self, text: str) -> str:
        return quote(text, safe="")

    def headers(self) -> dict:
        return {"accept": "application/json"}

    async def request(self, method: str, path: str, **options):
        try:
            response = await self.http.request(method, self.url + path, headers=self.headers(), **options)
        except httpx.HTTPError as error:
            raise AmplifierError(f"no response: {error!r}") from None
        return self.result(response)

    def result(self, response: httpx.Response):
        if not response.is_success:
            raise self.failure(response)
        result = parsed(response.content)
        if not isinstance(result, dict):
            raise AmplifierError("the response is no JSON object")
        return result

    def failure(self, response: httpx.Response) -> AmplifierError:
        body = parsed(response.content)
        error = body.get("error") if isinstance(body, dict) else None
        error = error if isinstance(error, dict) else {}
        message = error.get("message") or f"the server answered with the status {response.status_code}"
        return AmplifierError(message, code=error.get("code"), status=response.status_code)

    def hear(self, id: int, text: str):
        """A message came. What is no event is passed over: servers keep streams alive as they like."""
        message = parsed(text)
        if isinstance(message, dict) and isinstance(message.get("event"), str):
            self.tell(id, message["event"], message.get("data"))
            return message["event"]
        return None

    def tell(self, id: int, event: str, data):
        self.on_event(event, data, id)

    def stream_headers(self) -> dict:
        return {"accept": "text/event-stream", "cache-control": "no-cache"}

    def event_reader(self):
        return EventReader()

    async def follow(self, id: int, session: str, opened: asyncio.Future):
        """Follows an event stream, and subscribes again when it is cut, as an `EventSource` does."""
        last_id, retry, pause = "", RETRY, 0.0
        while True:
            ended = False
            headers = self.stream_headers() | ({"last-event-id": last_id.encode()} if last_id else {})
            url = f"{self.url}{self.session(session)}/events"
            try:
                async with self.http.stream("GET", url, headers=headers, timeout=FOREVER) as response:
                    if not self.is_stream(response):
                        if response.is_error:
                            await response.aread()
                            raise self.failure(response)
                        raise AmplifierError("the response is no event stream", status=response.status_code)
                    self.on_state("connected")
                    if not opened.done():
                        opened.set_result(None)
                    reader, pause = self.event_reader(), 0.0
                    async for piece in response.aiter_bytes():
                        for event in reader.feed(piece):
                            last_id = last_id if event.id is None else event.id
                            retry = retry if event.retry is None else event.retry / 1000
                            ended |= self.take(id, event) == "session:end"
            except AmplifierError as error:
                # The response is no. It will not get better.
                if not opened.done():
                    opened.set_exception(error)
                break
            except httpx.HTTPError as error:
                if not opened.done():
                    opened.set_exception(AmplifierError(f"no response: {error!r}"))
                    break
            if ended:
                break
            self.on_state("reconnecting")
            pause = min(max(pause * 2, retry), max(MOST_RETRY, retry))
            await asyncio.sleep(pause)
        self.on_state("disconnected")

    def is_stream(self, response: httpx.Response) -> bool:
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return response.status_code == 200 and content_type == "text/event-stream"

    def take(self, id: int, event: Event):
        return self.hear(id, event.data) if event.type == "message" and event.data is not None else None

    async def open_socket(self, id: int, session: str) -> Subscription:
        url = f"ws{self.url.removeprefix('http')}{self.session(session)}/ws"
        try:
            socket = await websockets.connect(url, max_size=64 * 1024 * 1024, proxy=None, close_timeout=0.5)
        except websockets.InvalidStatus as error:
            raise AmplifierError(str(error), status=error.response.status_code) from None
        except (OSError, websockets.WebSocketException, TimeoutError) as error:
            raise AmplifierError(f"no WebSocket: {error!r}") from None
        self.on_state("connected")
        return Subscription(asyncio.create_task(self.follow_socket(id, socket)), socket)

    async def follow_socket(self, id: int, socket):
        try:
            async for text in socket:
                self.hear(id, text)
        except websockets.ConnectionClosed:
            pass
        self.on_state("disconnected")


def given(query: dict) -> dict:
    return {key: value for key, value in query.items() if value is not None}


def parsed(text: str | bytes):
    """What a text says as JSON; `None` where it is none."""
    try:
        # On bytes it would let pass what is no UTF-8.
        return json.loads(text.decode() if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        return None
