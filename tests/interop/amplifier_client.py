"""Follows a session of the server at argv[1] in two ways at once: by `httpx`, and by a WebSocket of `websockets`. It posts
the prompts in argv[2] one after the other, and decides about approvals by their first option, or the second for prompts
that end in "no". Prints what each way reported, as one JSON object."""

import asyncio
import json
import sys

import httpx
from websockets.asyncio.client import connect

reported = {"httpx": [], "websockets": []}
news = asyncio.Condition()


async def take(way, text):
    async with news:
        reported[way].append(json.loads(text))
        news.notify_all()


async def every(name, times):
    """Waits until every way has reported something of this name so many times."""

    def have():
        return all(sum(message["event"] == name for message in messages) >= times for messages in reported.values())

    async with news:
        await news.wait_for(have)


async def read(stream):
    data = []
    async for line in stream.aiter_lines():
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            await take("httpx", "\n".join(data))
            data = []


async def hear(socket):
    async for text in socket:
        await take("websockets", text)


async def main(base, prompts):
    async with httpx.AsyncClient(base_url=base, timeout=60) as client:

        async def ask(method, path, body=None):
            answer = await client.request(method, path, json=body)
            return answer.raise_for_status().json()

        new = {"profile": "dev", "credentials": {"anthropic_api_key": "sk-ant-0123456789"}}
        session = f"/sessions/{(await ask('POST', '/sessions', new))['session_id']}"
        follow = client.stream("GET", f"{session}/events", headers={"Accept": "text/event-stream"})
        async with follow as stream, connect(f"{base.replace('http', 'ws', 1).rstrip('/')}{session}/ws") as socket:
            ways = [asyncio.create_task(read(stream)), asyncio.create_task(hear(socket))]
            decided = 0
            for n, prompt in enumerate(prompts):
                await ask("POST", f"{session}/prompt", {"prompt": prompt})
                complete = asyncio.create_task(every("prompt:complete", n + 1))
                while True:
                    asked = asyncio.create_task(every("approval:required", decided + 1))
                    await asyncio.wait([complete, asked], return_when=asyncio.FIRST_COMPLETED)
                    if not asked.done():
                        asked.cancel()
                        break
                    required = [message for message in reported["httpx"] if message["event"] == "approval:required"]
                    option = required[decided]["data"]["options"][prompt.endswith("no")]
                    await ask("POST", f"{session}/approval", {"decision": option})
                    decided += 1
            await ask("DELETE", session)
            await asyncio.gather(*ways)
    print(json.dumps(reported))


# A bound that only a hang reaches.
asyncio.run(asyncio.wait_for(main(sys.argv[1], json.loads(sys.argv[2])), 60))
