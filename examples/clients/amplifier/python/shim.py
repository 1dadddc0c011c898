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


async def answer(client: AmplifierClient, id: int, call: str, params: dict) -> None:
    """Performs one call, and says what came of it."""
    if call not in CALLS:
        say({"id": id, "unsupported": True})
        return
    try:
        # A response can be nested too deep to be said again.
        say({"id": id, "result": await getattr(client, call)(**params)})
    except AmplifierError as error:
        known = {"code": error.code, "status": error.status}
        known = {key: value for key, value in known.items() if value is not None}
        say({"id": id, "error": {**known, "message": str(error)}})
    except RecursionError:
        say({"id": id, "error": {"message": "the response is nested too deep"}})


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
    client = WRONG.get(arguments.wrong, AmplifierClient)(
        os.environ["WIRECERT_URL"],
        on_event=lambda event, data, subscription: say({"event": event, "data": data, "subscription": subscription}),
        on_state=lambda state: say({"state": state}),
    )
    calls = set()
    async for order in orders():
        # A task each: the next call must not wait for this one's answer.
        call = asyncio.create_task(answer(client, order["id"], order["call"], order.get("params", {})))
        calls.add(call)
        call.add_done_callback(calls.discard)
    await client.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--wrong", choices=sorted(WRONG), help="be wrong in this way")
    asyncio.run(main(parser.parse_args()))
