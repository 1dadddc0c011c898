"""An agent that goes by a script. What it does for a prompt is known by its words."""

import asyncio
from pathlib import Path

from errors import Failure

# Between two things that it tells, in seconds.
PAUSE = 0.002


class Turn:
    """What an agent tells while it works on one prompt."""

    def __init__(self, session, prompt):
        self.session = session
        self.prompt = prompt
        self.blocks = []
        self.words = 0

    async def tell(self, name, **data):
        self.session.tell(name, **data)
        await asyncio.sleep(PAUSE)

    async def say(self, text, pause=0):
        index = len(self.blocks)
        self.blocks.append(text)
        await self.tell("content_block:start", block_type="text", block_index=index)
        for n, word in enumerate(text.split(" ")):
            self.words += 1
            await self.tell("content_block:delta", block_index=index, delta=f" {word}" if n else word)
            await asyncio.sleep(pause)
        await self.tell("content_block:end", block_index=index)

    async def think(self, text):
        for delta in text.partition(" "):
            await self.tell("thinking:delta", delta=delta)
        await self.tell("thinking:final", thinking=text)

    async def tool(self, operation, path, action):
        """Uses a tool on a file; `action` gives its output, or fails with an OSError."""
        tool = {"tool_name": "filesystem", "operation": operation}
        await self.tell("tool:pre", **tool, input={"path": str(path)})
        await self.run(tool, action)

    async def run(self, tool, action):
        started = asyncio.get_running_loop().time()
        try:
            output = action()
        except OSError as error:
            await self.tell("tool:error", **tool, error=error.strerror)
            return
        took = round((asyncio.get_running_loop().time() - started) * 1000)
        await self.tell("tool:post", **tool, result={"success": True, "output": output}, duration_ms=took)

    async def guarded(self, timeout):
        """Writes a file, if it may."""
        path = Path(self.session.root or ".") / "guarded.txt"
        tool = {"tool_name": "filesystem", "operation": "write_file"}
        await self.tell("tool:pre", **tool, input={"path": str(path)})
        if await self.session.ask(f"Allow writing to {path}?", timeout, {"tool": "filesystem", "path": str(path)}):
            await self.run(tool, lambda: f"{path.write_text('done')} bytes written")
            await self.say("It is written.")
        else:
            await self.tell("tool:error", **tool, error="denied")
            await self.say("I left it alone.")


async def hello(turn):
    await turn.say("Hello from the other end.")


async def list_files(turn):
    root = Path(turn.session.root or ".")
    await turn.say("I look.")
    await turn.tool("list_files", root, lambda: "\n".join(sorted(entry.name for entry in root.iterdir())))
    await turn.say("That is all.")


async def read_nothing(turn):
    path = Path(turn.session.root or ".") / "no-such-file.txt"
    await turn.tool("read_file", path, path.read_text)
    await turn.say("It is not there.")


async def think(turn):
    await turn.think("A year has 365 days. A leap year has one more.")
    await turn.say("366")


async def write_file(turn):
    await turn.guarded(timeout=60)


async def write_file_soon(turn):
    await turn.guarded(timeout=0.3)


async def count(turn):
    await turn.tell("status:update", status="processing", message="I count.", progress=0)
    await turn.say(" ".join(str(n) for n in range(100)), pause=0.02)


async def report(turn):
    for progress in (0, 50, 100):
        await turn.tell("status:update", status="processing", message="I work.", progress=progress)
    await turn.say("It is done.")


async def diagnose(turn):
    path = str(Path(turn.session.root or ".") / "main.py")
    problem = {
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}},
        "severity": "warning",
        "message": "This is never used.",
        "source": "amplifier",
    }
    await turn.tell("diagnostic:add", path=path, diagnostics=[problem])
    await turn.tell("diagnostic:clear", path=path)
    await turn.say("One, and it is gone.")


async def wonder(turn):
    await turn.say("I do not know what to say to that.")


SCRIPTS = {
    "Say hello.": hello,
    "List the files of this folder.": list_files,
    "Read the file no-such-file.txt.": read_nothing,
    "How many days has a leap year?": think,
    "Write the word done into guarded.txt.": write_file,
    "Write the word done into guarded.txt, and be quick.": write_file_soon,
    "Count to a hundred.": count,
    "Tell me how far you are.": report,
    "What is wrong with main.py?": diagnose,
}

# Prompts that the provider of its model refuses.
REFUSED = {
    "Use a key that was revoked.": "INVALID_API_KEY",
    "Use a model for others.": "API_KEY_UNAUTHORIZED",
    "Ask too often.": "RATE_LIMITED",
    "Ask a model that breaks.": "PROVIDER_ERROR",
    "Ask a model that is not there.": "PROVIDER_UNAVAILABLE",
    "Load a module that does not load.": "MODULE_LOAD_FAILED",
    "Break.": "SERVER_ERROR",
}


def check(prompt):
    """Fails where the prompt will not be worked on."""
    if prompt in REFUSED:
        raise Failure(REFUSED[prompt], "The prompt was refused")


async def work(session, request, prompt):
    """Works on a prompt, from `prompt:submit` to `prompt:complete`."""
    turn = Turn(session, prompt)
    await turn.tell("prompt:submit", request_id=request, prompt=prompt)
    await SCRIPTS.get(prompt, wonder)(turn)
    usage = session.spend(len(prompt.split()), turn.words)
    session.complete()
    session.tell("prompt:complete", request_id=request, response="\n\n".join(turn.blocks), token_usage=usage)
