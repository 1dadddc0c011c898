"""What Linux says about processes: whose they are, how much memory they took, and how to have them end with us."""

import ctypes
import os
import signal
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x00020000
MS_PRIVATE_RECURSIVE = 0x00044000
LIBC = ctypes.CDLL(None, use_errno=True)


def adopt_orphans():
    """Makes this process the parent of all its descendants whose parents have gone, and ends it with its parent."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def descendants(root):
    """The ids of all processes below this one that live, zombies left out, with their command lines."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            children.setdefault(int(parent), []).append((int(name), state))
    found, below = {}, [root]
    while below:
        for pid, state in children.get(below.pop(), []):
            below.append(pid)
            if state not in (b"Z", b"X"):
                found[pid] = command(pid)
    return found


def command(pid):
    """The command line of a process, cut, or "" if it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(300).replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def end_all(root, seconds=5):
    """Kills all descendants of this process, also those that are forked meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        living = descendants(root)
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        reap()
        if not living:
            return
        time.sleep(0.01)


def reap():
    """Waits for the children that have ended, but for none that lives."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def peak(pid, program):
    """The most memory that this process has taken in bytes, 0 if it is gone or not yet this program."""
    try:
        if os.readlink(f"/proc/{pid}/exe") != program:
            return 0
        with open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def mount(folder, size):
    """Mounts a file system in memory of this size, for this process and its descendants; raises `OSError`."""
    if LIBC.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    LIBC.mount(b"none", b"/", None, MS_PRIVATE_RECURSIVE, None)
    if LIBC.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def unmount(folder):
    """Undoes `mount`; does nothing where nothing is mounted."""
    LIBC.umount2(os.fsencode(folder), 2)
