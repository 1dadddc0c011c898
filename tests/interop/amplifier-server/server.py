"""A small server of Amplifier, as somebody would write it who has the document and FastAPI: with uvicorn and
sse-starlette, and an agent that goes by a script.

`server.py --port N` listens on 127.0.0.1. `--wrong NAME` makes it wrong in one way; `mistakes.py` has the names.
"""

import argparse
import asyncio
import json
import time
import traceback

import uvicorn
from fastapi import FastAPI, Query, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException

import agent
import catalog
import mistakes
from bodies import Decision, NewPrompt, NewSession
from errors import Failure
from mistakes import wrong
from sessions import Session, Sessions

VERSION = "0.1.0"

options = argparse.ArgumentParser(description="A server of Amplifier, for tests.")
options.add_argument("--port", type=int, default=8765)
options.add_argument("--wrong", choices=mistakes.KNOWN)
options = options.parse_args()
mistakes.choose(options.wrong)

app = FastAPI(redirect_slashes=wrong("slashes"), openapi_url=None)
sessions = Sessions()
started = time.monotonic()

# The path under which sessions and profiles are found.
SLASH = "/" if wrong("slashes") else ""


# Errors.


class Ascii(JSONResponse):
    """JSON with what a request said in it, which may be no text that can be encoded: half of a surrogate pair."""

    def render(self, content):
        return json.dumps(content).encode()


def refused(status, body):
    if wrong("detail-errors"):
        body = {"detail": body["error"]["message"]}
    return Ascii(body, status)


@app.exception_handler(Failure)
async def failed(_request, failure):
    return refused(failure.status, failure.body)


@app.exception_handler(RequestValidationError)
async def does_not_fit(_request, error):
    reported = ("loc", "msg", "input") if wrong("echoes-input") else ("loc", "msg")
    faults = [{key: fault[key] for key in reported if key in fault} for fault in error.errors()]
    failure = Failure("INVALID_REQUEST", "The request does not fit", faults=faults)
    return refused(422 if wrong("unprocessable") else failure.status, failure.body)


@app.exception_handler(HTTPException)
async def nowhere(_request, error):
    """What the framework itself refuses: paths and methods that do not exist, and bodies that cannot be read."""
    return refused(error.status_code, Failure("INVALID_REQUEST", str(error.detail)).body)


@app.exception_handler(Exception)
async def broken(_request, error):
    if wrong("tracebacks"):
        return PlainTextResponse("".join(traceback.format_exception(error)), 500)
    return refused(500, Failure("SERVER_ERROR", "Something went wrong").body)


# Sessions.


def check_key(credentials):
    """Fails where a session would get nowhere. What keys may do, they say of themselves: a provider would be asked."""
    key = credentials.anthropic_api_key
    if not key:
        raise Failure("MISSING_CREDENTIALS", "There is no API key")
    if key.endswith("-limited"):
        raise Failure("API_KEY_UNAUTHORIZED", "The API key may not do this")
    if not key.endswith("-full"):
        raise Failure("INVALID_API_KEY", "The API key is not valid")


@app.post(f"/sessions{SLASH}", status_code=201)
async def create_session(body: NewSession):
    if wrong("logs-bodies"):
        print(body.model_dump_json(), flush=True)
    if catalog.profile(body.profile) is None:
        raise Failure("PROFILE_NOT_FOUND", "There is no such profile", profile=body.profile)
    if body.model is not None and body.model not in catalog.MODELS:
        raise Failure("INVALID_REQUEST", "There is no such model", model=body.model)
    check_key(body.credentials)
    session = sessions.add(Session(body.profile, body.context and body.context.workspace_root))
    return session.summary() | {"status": "created"}


@app.get(f"/sessions{SLASH}")
async def list_sessions(status: str | None = None, limit: int = Query(50, ge=1)):
    found = [session.summary() for session in sessions.all.values() if status in (None, session.status)]
    if wrong("bare-lists"):
        return found
    return {"sessions": found if wrong("no-limit") else found[:limit], "total": len(found)}


@app.get("/sessions/{session_id}")
async def get_session(session_id: str):
    return sessions.get(session_id).describe()


@app.delete("/sessions/{session_id}")
async def stop_session(session_id: str):
    sessions.stop(session_id)
    return {"status": "stopped", "message": "The session was stopped"}


@app.post("/sessions/{session_id}/prompt", status_code=200 if wrong("prompt-200") else 202)
async def submit_prompt(session_id: str, body: NewPrompt):
    session = sessions.get(session_id)
    request = session.submit(body.prompt, agent)
    if wrong("awaits-agent"):
        await asyncio.wait([session.work])
    return {"request_id": request, "status": "processing", "message": "The response comes by events"}


@app.post("/sessions/{session_id}/approval")
async def submit_approval(session_id: str, body: Decision):
    word = sessions.pending(sessions.get(session_id)).decide(body.decision)
    return {"status": word, "message": "The decision was recorded"}


# Events.


def keep_alive():
    return ServerSentEvent(data=json.dumps({"event": "ping", "data": {}}))


def text_of(event):
    text = json.dumps(event)
    return json.dumps(text) if wrong("double-json") else text


@app.get("/sessions/{session_id}/events")
async def follow(session_id: str):
    session = sessions.get(session_id)
    queue = session.follow()
    if wrong("late-head"):
        queue.get_nowait()
        first = await queue.get()
        queue.put_nowait(first)

    async def events():
        if wrong("json-keep-alive"):
            yield keep_alive()
        try:
            while event := await queue.get():
                name = event["event"] if wrong("event-names") else None
                yield ServerSentEvent(data=text_of(event), event=name)
        finally:
            session.leave(queue)

    return EventSourceResponse(events(), ping_message_factory=keep_alive if wrong("json-keep-alive") else None)


@app.websocket("/sessions/{session_id}/ws")
async def follow_by_socket(socket: WebSocket, session_id: str):
    try:
        session = sessions.get(session_id)
    except Failure as failure:
        await socket.send_denial_response(Ascii(failure.body, failure.status))
        return
    await socket.accept()
    queue = session.follow()
    send = (lambda text: socket.send_bytes(text.encode())) if wrong("binary-messages") else socket.send_text

    async def tell():
        while event := await queue.get():
            await send(text_of(event))
        await socket.close()

    async def hear():
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                await act(session, message.get("text"))
            except Failure as failure:
                await send(json.dumps(failure.body))

    both = [asyncio.create_task(tell()), asyncio.create_task(hear())]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        session.leave(queue)
        for task in both:
            task.cancel()
        # What they failed with is the connection, which is gone.
        await asyncio.gather(*both, return_exceptions=True)


async def act(session, text):
    """Does what a message over a WebSocket asks for."""
    try:
        message = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise Failure("INVALID_REQUEST", "The message is no JSON") from None
    if not isinstance(message, dict):
        raise Failure("INVALID_REQUEST", "The message is no object")
    match message:
        case {"action": "submit_prompt", "prompt": str(prompt)}:
            session.submit(prompt, agent)
            if wrong("unwatched-socket"):
                await asyncio.wait([session.work])
        case {"action": "submit_approval", "decision": str(decision)}:
            session.decide(decision)
        case {"action": "stop"}:
            if session.id in sessions.all:
                sessions.stop(session.id)
        case _:
            raise Failure("INVALID_REQUEST", "There is no such action")


# What there is to choose from, and the server itself.


@app.get(f"/profiles{SLASH}")
async def list_profiles(collection: str | None = None):
    found = catalog.of(catalog.PROFILES, collection)
    return found if wrong("bare-lists") else {"profiles": found}


@app.get("/profiles/{name}")
async def get_profile(name: str):
    profile = catalog.profile(name)
    if profile is None:
        raise Failure("PROFILE_NOT_FOUND", "There is no such profile", profile=name[:100])
    return profile | catalog.MODULES


@app.get("/collections")
async def list_collections():
    return {"collections": catalog.COLLECTIONS}


@app.get("/agents")
async def list_agents(collection: str | None = None):
    return {"agents": catalog.of(catalog.AGENTS, collection)}


@app.get("/health")
async def health():
    return {
        "status": "healthy",
        "version": VERSION,
        "uptime_seconds": round(time.monotonic() - started),
        "active_sessions": len(sessions.all),
    }


@app.get("/info")
async def info():
    return {
        "version": VERSION,
        "amplifier_core_version": "0.5.0",
        "capabilities": {"streaming": True, "extended_thinking": True, "tool_use": True},
        "config": {
            "host": "127.0.0.1",
            "port": options.port,
            "profiles_path": "~/.amplifier/profiles",
            "collections_path": "~/.amplifier/collections",
        },
    }


if __name__ == "__main__":
    uvicorn.run(app, port=options.port, log_level="warning", timeout_graceful_shutdown=1)
