"""An echo server of python `websockets`. Prints its port, then one JSON line for each connection that ended."""

import asyncio
import http
import json

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def talk(connection):
    try:
        async for message in connection:
            if message == "fragments":
                await connection.send(["one ", "two ", "three"])
            elif message == "ping":
                await (await connection.ping("marco"))
                await connection.send("ponged")
            elif isinstance(message, str) and message.startswith("close "):
                _, code, reason = message.split(" ")
                await connection.close(int(code), reason)
            else:
                await connection.send(message)
    except ConnectionClosed:
        pass
    await connection.wait_closed()
    print(json.dumps({"closed": [connection.close_code, connection.close_reason]}), flush=True)


def refuse(connection, request):
    if request.path == "/refuse":
        return connection.respond(http.HTTPStatus.FORBIDDEN, "not you\n")


def choose(connection, offered):
    return "chat" if "chat" in offered else None


async def main():
    options = {
        "max_size": None,
        "subprotocols": ["chat"],
        "select_subprotocol": choose,
        "process_request": refuse,
        "ping_interval": None,
    }
    async with serve(talk, "127.0.0.1", 0, **options) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())
