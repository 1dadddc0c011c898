"""What is posted. Members that the document does not have are passed over; null is a value of none of the types."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StrictInt, StrictStr

Count = Annotated[StrictInt, Field(ge=0)]


class Position(BaseModel):
    line: Count
    character: Count


class Range(BaseModel):
    start: Position
    end: Position


class OpenFile(BaseModel):
    path: StrictStr
    language: StrictStr
    content: StrictStr
    cursor_position: Position = None


class GitState(BaseModel):
    branch: StrictStr
    staged_files: list[StrictStr]
    modified_files: list[StrictStr]
    untracked_files: list[StrictStr]


class Diagnostic(BaseModel):
    path: StrictStr
    severity: Literal["error", "warning", "info", "hint"]
    message: StrictStr
    range: Range


class Selection(BaseModel):
    path: StrictStr
    text: StrictStr
    range: Range


class ContextUpdate(BaseModel):
    workspace_root: StrictStr = None
    open_files: list[OpenFile] = []
    git_state: GitState = None
    diagnostics: list[Diagnostic] = []
    selection: Selection = None


class Context(ContextUpdate):
    workspace_root: StrictStr


class Credentials(BaseModel):
    anthropic_api_key: StrictStr = None


class NewSession(BaseModel):
    profile: StrictStr
    model: StrictStr = None
    credentials: Credentials
    context: Context = None


class NewPrompt(BaseModel):
    prompt: StrictStr
    context_update: ContextUpdate = None


class Decision(BaseModel):
    decision: StrictStr
