"""`Relay`: passes bytes on between a client and a server, changes the target of the first request, and keeps a copy."""

import asyncio
import threading

# Bytes.
PIECE = 1 << 16
# Seconds that connections may take to end, once the relay is to end.
LAST = 2


class Relay:
    """A relay of a block, in a thread of its own. `retarget(n)` is the target of the request of connection `n`, from 0.

    With `numbered`, a header `X-Connection` in both heads has the number of the connection.
    """

    def __init__(self, port, retarget, numbered=False):
        self.target = port
        self.retarget = retarget
        self.numbered = numbered
        # For each connection: the bytes to the server, and those to the client.
        self.connections = []
        # Without these, a task that waits could be collected.
        self.tasks = set()
        self.loop = asyncio.new_event_loop()
        # What is still open at the end is cancelled, which is no error.
        self.loop.set_exception_handler(lambda *_: None)
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        start = asyncio.start_server(self.connection, "127.0.0.1", 0)
        self.server = asyncio.run_coroutine_threadsafe(start, self.loop).result()
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def end(self):
        """Closes the listener, and ends what is still open."""
        self.server.close()
        if others := self.others():
            # What an end sent last is still passed on.
            await asyncio.wait(others, timeout=LAST)
        # A connection that was just accepted begins another one.
        while others := self.others():
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    @staticmethod
    def others():
        """The tasks beside this one."""
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    async def connection(self, reader, writer):
        """Serves one connection."""
        self.tasks.add(asyncio.current_task())
        number = len(self.connections)
        copy = (bytearray(), bytearray())
        self.connections.append(copy)
        extra = f"X-Connection: {number}\r\n".encode() if self.numbered else b""
        server_writer = None
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(
                self.pump(reader, server_writer, copy[0], self.retarget(number), extra),
                self.pump(server_reader, writer, copy[1], None, extra),
            )
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            if server_writer:
                server_writer.close()

    async def pump(self, reader, writer, copy, target, extra):
        """Passes one direction on, up to its end, with another target and more headers."""
        try:
            first = await reader.readuntil(b"\r\n")
            if target is not None:
                method, _, version = first.split(b" ", 2)
                first = b" ".join([method, target.encode(), version])
            await self.pass_on(first + extra, writer, copy)
            while piece := await reader.read(PIECE):
                await self.pass_on(piece, writer, copy)
            writer.write_eof()
        except (OSError, asyncio.IncompleteReadError):
            writer.transport.abort()

    @staticmethod
    async def pass_on(piece, writer, copy):
        """Keeps a piece, and sends it."""
        copy.extend(piece)
        writer.write(piece)
        await writer.drain()
