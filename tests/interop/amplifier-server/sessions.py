"""Sessions: what is known of them, who follows them, and the gate before what an agent may not do unasked."""

import asyncio
import uuid
from datetime import datetime, timezone

from errors import Failure
from mistakes import wrong

OPTIONS = ["Allow", "Deny", "Allow All"]


def now():
    """This moment, as the document writes it."""
    if wrong("naive-times"):
        return datetime.now(timezone.utc).replace(tzinfo=None).isoformat()
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")


class Approval:
    """A decision that an agent waits for."""

    def __init__(self):
        self.id = f"appr-{uuid.uuid4()}"
        self.decision = asyncio.get_running_loop().create_future()
        self.timed_out = False


class Session:
    """One session. All of them live in one event loop: what is done between two awaits is done at once."""

    def __init__(self, profile, root):
        self.id = str(uuid.uuid4())
        self.profile = profile
        self.root = root
        self.status = "idle"
        self.created_at = self.last_activity = now()
        self.messages = 0
        self.usage = {"input_tokens": 0, "output_tokens": 0}
        self.approval = None
        self.work = None
        self.followers = set()
        self.shared = asyncio.Queue()

    def summary(self):
        return {
            "session_id": self.id,
            "status": self.status,
            "profile": self.profile,
            "created_at": self.created_at,
        }

    def describe(self):
        pending = {"approval_id": self.approval.id} if self.is_pending() else None
        return self.summary() | {
            "last_activity": self.last_activity,
            "message_count": self.messages,
            "token_usage": dict(self.usage),
            "pending_approval": pending,
        }

    # Followers.

    def follow(self):
        """A queue that gets every event from now on, and None at the end."""
        queue = self.shared if wrong("one-queue") else asyncio.Queue()
        self.followers.add(queue)
        queue.put_nowait(self.event("session:start", profile=self.profile, timestamp=now()))
        return queue

    def leave(self, queue):
        self.followers.discard(queue)
        if wrong("tied-to-request") and self.work:
            self.work.cancel()

    def event(self, name, **data):
        return {"event": name, "data": {"session_id": self.id} | data}

    def tell(self, name, **data):
        event = self.event(name, **data)
        for queue in self.followers:
            queue.put_nowait(event)

    # Prompts.

    def submit(self, prompt, agent):
        """Has the agent work on a prompt, and gives the id of the request."""
        if self.work and not self.work.done():
            status = 404 if wrong("busy-404") else None
            raise Failure("SESSION_BUSY", "The session works on another prompt", status=status, session_id=self.id)
        agent.check(prompt)
        request = f"req-{uuid.uuid4()}"
        self.status, self.approval = "processing", None
        self.last_activity = now()
        self.messages += 1
        self.work = asyncio.create_task(agent.work(self, request, prompt))
        return request

    def spend(self, read, written):
        self.usage["input_tokens"] += read
        self.usage["output_tokens"] += written
        return {"input_tokens": read, "output_tokens": written}

    def complete(self):
        self.status = "idle"
        self.messages += 1
        self.last_activity = now()

    # The gate.

    def is_pending(self):
        return self.approval is not None and not self.approval.decision.done()

    async def ask(self, prompt, timeout, context):
        """Whether an action is allowed."""
        approval = self.approval = Approval()
        self.status = "awaiting_approval"
        self.tell(
            "approval:required",
            approval_id=approval.id,
            prompt=prompt,
            options=OPTIONS,
            timeout=timeout,
            default="deny",
            context=context,
        )
        try:
            decision = await asyncio.wait_for(asyncio.shield(approval.decision), timeout)
        except TimeoutError:
            approval.timed_out = True
            approval.decision.cancel()
            decision = "Allow" if wrong("default-allows") else None
        self.status = "processing"
        allowed = decision in ("Allow", "Allow All") or (wrong("leaky-gate") and decision != "Deny")
        if allowed:
            self.tell("approval:granted", approval_id=approval.id, decision=decision or "Allow")
        else:
            reason = "timeout" if approval.timed_out else "user_denied"
            self.tell("approval:denied", approval_id=approval.id, decision=decision or "Deny", reason=reason)
        return allowed

    def decide(self, decision):
        """Takes a decision, and gives the word for it."""
        if self.approval is None:
            raise Failure("APPROVAL_INVALID", "No approval is pending", session_id=self.id)
        if self.approval.timed_out:
            raise Failure("APPROVAL_TIMEOUT", "The approval has timed out", status=409, session_id=self.id)
        if not self.is_pending():
            raise Failure("APPROVAL_INVALID", "The approval is resolved already", status=409, session_id=self.id)
        if wrong("any-case"):
            decision = {option.lower(): option for option in OPTIONS}.get(decision.lower(), decision)
        if decision not in OPTIONS:
            raise Failure("APPROVAL_INVALID", "The decision is none of the options", options=OPTIONS)
        self.approval.decision.set_result(decision)
        return "denied" if decision == "Deny" else "approved"

    def stop(self):
        """Ends the session, whatever its agent is at."""
        if wrong("leaky-gate") and self.is_pending():
            self.approval.decision.set_result(None)
        elif self.work:
            self.work.cancel()
        self.status = "stopped"
        self.tell("session:end", reason="user_stopped", token_usage=dict(self.usage))
        for queue in self.followers:
            queue.put_nowait(None)


class Sessions:
    """All sessions, by their ids."""

    def __init__(self):
        self.all = {}

    def add(self, session):
        self.all[session.id] = session
        return session

    def get(self, id):
        if id in self.all:
            return self.all[id]
        if wrong("tracebacks"):
            raise KeyError(id)
        raise Failure("SESSION_NOT_FOUND", "There is no such session", session_id=id[:100])

    def stop(self, id):
        session = self.get(id)
        del self.all[id]
        session.stop()

    def pending(self, session):
        """The session that a decision is for."""
        if wrong("any-session") and not session.is_pending():
            return next((other for other in self.all.values() if other.is_pending()), session)
        return session
