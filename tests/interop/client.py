"""A client of python `websockets`: connects to a URL, does what JSON lines on stdin say, tells what comes on stdout."""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake


def tell(**event):
    print(json.dumps(event), flush=True)


async def listen(connection):
    try:
        async for message in connection:
            if len(message) > 1000:
                tell(big=len(message))
            else:
                tell(text=message)
    except ConnectionClosed:
        pass
    await connection.wait_closed()
    tell(closed=[connection.close_code, connection.close_reason])


async def obey(connection):
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        order = json.loads(line)
        if "send" in order:
            await connection.send(order["send"])
        elif "parts" in order:
            await connection.send(order["parts"])
        elif "big" in order:
            await connection.send("x" * order["big"])
        elif "ping" in order:
            await (await connection.ping(order["ping"]))
            tell(pong=order["ping"])
        elif "close" in order:
            await connection.close(*order["close"])


async def main():
    try:
        connection = await connect(
            sys.argv[1], max_size=None, subprotocols=["chat"], compression=None, ping_interval=None, proxy=None
        )
    except InvalidHandshake:
        tell(refused=True)
        return
    tell(open=connection.subprotocol)
    listening = asyncio.create_task(listen(connection))
    obeying = asyncio.create_task(obey(connection))
    await listening
    obeying.cancel()


asyncio.run(main())
