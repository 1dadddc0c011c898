"""Finding the editor: lockfiles, and which of them is meant."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Editor:
    """What a lockfile says. The edition `guide` knows the port and the token only."""

    port: int
    token: str
    pid: int = 0
    name: str = ""
    folders: tuple[str, ...] = ()


class Discovery:
    """Looks for editors. It reads everything anew each time, for editors come and go."""

    def __init__(self, edition: str):
        self.edition = edition

    def editors(self, last: Editor | None = None) -> list[Editor]:
        """Those to connect to, best first. `last` is the editor that we were connected to before."""
        found = self.lockfiles()
        if self.edition == "guide":
            return found  # Nothing in them says which is meant: the first that lets us in.
        found = self.in_this_folder([editor for editor in found if self.is_alive(editor.pid)])
        if last is not None:
            same = [editor for editor in found if (editor.name, editor.folders) == (last.name, last.folders)]
            found = same or found
        return found if len(found) == 1 else []  # Of several, the user has to choose.

    def lockfiles(self) -> list[Editor]:
        """What the sound lockfiles say, the newest first. Which name a file has does not matter."""
        dated = []
        for path in (self.data_home() / "amp" / "ide").glob("*.json"):
            try:
                if path.is_file():
                    dated.append((path.stat().st_mtime, self.read(path)))
            except (OSError, ValueError, RecursionError):
                continue  # Torn, unreadable, gone meanwhile, or no lockfile at all: as if it were not there.
        return [editor for _, editor in sorted(dated, key=lambda pair: pair[0], reverse=True)]

    def data_home(self) -> Path:
        if self.edition == "cli":
            if home := os.environ.get("AMP_DATA_HOME"):
                return Path(home)
            if sys.platform == "linux" and (home := os.environ.get("XDG_DATA_HOME")):
                return Path(home)
        return Path.home() / ".local" / "share"

    def read(self, path: Path) -> Editor:
        """Raises ValueError where a key is missing, or has another type than the edition says."""
        says = json.loads(path.read_bytes())
        if not isinstance(says, dict):
            raise ValueError("no object")
        port, token = says.get("port"), says.get("authToken")
        if not (is_integer(port) and 0 < port < 65536 and isinstance(token, str)):
            raise ValueError("no port or no token")
        if self.edition == "guide":
            return Editor(port, token)
        pid, name, folders = says.get("pid"), says.get("ideName"), says.get("workspaceFolders")
        if not (is_integer(pid) and isinstance(name, str) and isinstance(folders, list)):
            raise ValueError("no pid, no ideName or no workspaceFolders")
        if not all(isinstance(folder, str) for folder in folders):
            raise ValueError("a folder that is no string")
        return Editor(port, token, pid, name, tuple(folders))

    def is_alive(self, pid: int) -> bool:
        if pid <= 0:
            return False  # For `kill`, these are groups of processes.
        try:
            os.kill(pid, 0)  # Sends nothing, and says whether it could.
        except PermissionError:
            return True  # There is one, of another user.
        except (OSError, OverflowError):
            return False
        return True

    def in_this_folder(self, editors: list[Editor]) -> list[Editor]:
        """Those that have the working directory open; where there are none, those with a folder above or below it."""
        here = resolved(os.getcwd())
        exact, related = [], []
        for editor in editors:
            folders = [resolved(folder) for folder in editor.folders if os.path.isabs(folder)]
            if here in folders:
                exact.append(editor)
            elif any(here.startswith(folder) or folder.startswith(here) for folder in folders):
                related.append(editor)
        return exact or related


def resolved(folder: str) -> str:
    """Without links, and with a slash at its end: `/a/b` is not inside of `/a/bc`, `/a/b/` is inside of `/a/`."""
    return os.path.join(os.path.realpath(folder), "")


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
