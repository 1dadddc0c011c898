"""`python -m wirecert …` runs the program of the same version."""

import os
import subprocess
import sys

from ._binary import find_binary


def main() -> None:
    command = [find_binary(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(command[0], command)
    sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
