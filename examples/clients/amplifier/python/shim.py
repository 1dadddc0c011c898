"""The client, driven by wirecert: JSON lines come on stdin, JSON lines go to stdout. See docs/clients.md of wirecert. The
server is at the URL in WIRECERT_URL.

    shim.py [--wrong NAME]
"""

import argparse
import asyncio
import json
import os
import sys

from client import AmplifierClient, AmplifierError
from wrong import WRONG

MAX_LINE = 64 * 1024 * 1024  # Bytes.
CALLS = [
    "createSession", "submitPrompt", "submitApproval", "getSession", "deleteSession", "listSessions", "listProfiles",
    "getProfile", "listCollections", "listAgents", "health", "info", "subscribe", "control", "unsubscribe",
]  # fmt: skip


def say(line: dict) -> None:
    print(json.dumps(line), flush=True)


class Life:
    """One life of the client, with the server at a URL: from one scenario to the next nothing of it is left."""

    def __init__(self, arguments: argparse.Namespace, url: str):
        self.over = False
        self.calls: set[asyncio.Task] = set()
        self.client = WRONG.get(arguments.wrong, AmplifierClient)(
            url,
            on_event=lambda event, data, subscription: self.tell(
                {"event": event, "data": data, "subscription": subscription}
            ),
            on_state=lambda state: self.tell({"state": state}),
        )

    def tell(self, line: dict) -> None:
        if not self.over:
            say(line)

    def call(self, order: dict) -> None:
        # A task each: the next call must not wait for this one's answer.
        call = asyncio.create_task(self.answer(order["id"], order["call"], order.get("params", {})))
        self.calls.add(call)
        call.add_done_callback(self.calls.discard)

    async def answer(self, id: int, call: str, params: dict) -> None:
        """Performs one call, and says what came of it."""
        if call not in CALLS:
            self.tell({"id": id, "unsupported": True})
            return
        try:
            # A response can be nested too deep to be said again.
            self.tell({"id": id, "result": await getattr(self.client, call)(**params)})
        except AmplifierError as error:
            known = {"code": error.code, "status": error.status}
            known = {key: value for key, value in known.items() if value is not None}
            self.tell({"id": id, "error": {**known, "message": str(error)}})
        except RecursionError:
            self.tell({"id": id, "error": {"message": "the response is nested too deep"}})

    async def end(self) -> None:
        await self.client.close()
        for call in list(self.calls):
            call.cancel()
        self.over = True


async def orders():
    """What comes on stdin, up to its end or to an order to close."""
    lines = asyncio.StreamReader(limit=MAX_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        order = json.loads(line)
        if "close" in order:
            return
        yield order


async def main(arguments: argparse.Namespace) -> None:
    life = Life(arguments, os.environ["WIRECERT_URL"])
    async for order in orders():
        if "reset" in order:
            await life.end()
            say({"reset": True})
        elif "begin" in order:
            life = Life(arguments, order["begin"]["url"])
        else:
            life.call(order)
    await life.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--wrong", choices=sorted(WRONG), help="be wrong in this way")
    asyncio.run(main(parser.parse_args()))
