"""The client, driven by wirecert: JSON lines come on stdin, JSON lines go to stdout. See docs/clients.md of wirecert.

    shim.py [--timeout SECONDS] [--wrong NAME]
"""

import argparse
import asyncio
import json
import os
import sys

from client import AmpClient
from editions import AmpError
from wrong import WRONG

MAX_LINE = 64 * 1024 * 1024  # Bytes. A call may hold a whole file.


def say(line: dict) -> None:
    print(json.dumps(line), flush=True)


class Life:
    """One life of the client: from one scenario to the next nothing of it is left."""

    def __init__(self, arguments: argparse.Namespace):
        self.over = False
        self.calls: set[asyncio.Task] = set()
        self.client = WRONG.get(arguments.wrong, AmpClient)(
            "guide" if os.environ.get("WIRECERT_EDITION") == "guide" else "cli",
            timeout=arguments.timeout,
            on_notification=lambda name, data: self.tell({"event": name, "data": data}),
            on_state=lambda state: self.tell({"state": state}),
        )
        self.client.start()

    def tell(self, line: dict) -> None:
        if not self.over:
            say(line)

    def call(self, order: dict) -> None:
        # A task each: the next call must not wait for this one's answer.
        call = asyncio.create_task(self.answer(order["id"], order["call"], order.get("params", {})))
        self.calls.add(call)
        call.add_done_callback(self.calls.discard)

    async def answer(self, id: int, method: str, params: dict) -> None:
        """Performs one call, and says what came of it."""
        if method not in self.client.edition.methods:
            self.tell({"id": id, "unsupported": True})
            return
        try:
            self.tell({"id": id, "result": await self.client.request(method, params)})
        except AmpError as error:
            code = {} if error.code is None else {"code": error.code}
            self.tell({"id": id, "error": {**code, "message": str(error)}})

    async def end(self) -> None:
        await self.client.close()
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
    life = Life(arguments)
    async for order in orders():
        if "reset" in order:
            await life.end()
            say({"reset": True})
        elif "begin" in order:
            life = Life(arguments)
        else:
            life.call(order)
    await life.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds that a response may take")
    parser.add_argument("--wrong", choices=sorted(WRONG), help="be wrong in this way")
    asyncio.run(main(parser.parse_args()))
