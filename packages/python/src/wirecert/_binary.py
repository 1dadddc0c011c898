"""Where the `wirecert` program is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path


def find_binary() -> str:
    """The path of the `wirecert` program.

    That is, in this order: the value of the environment variable `WIRECERT`, the program that was installed with this
    package, the program in `PATH`.

    Raises:
        FileNotFoundError: there is none.
    """
    if named := os.environ.get("WIRECERT"):
        return named
    name = "wirecert" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    if sys.version_info >= (3, 10):
        folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in folders:
        installed = Path(folder, name)
        if installed.is_file():
            return str(installed)
    if found := shutil.which("wirecert"):
        return found
    raise FileNotFoundError(
        f"there is no program `wirecert` in {', '.join(folders)} or PATH; install it, or set WIRECERT to its path"
    )
