"""What wirecert left in its folder: whether each file is whole, and each trace can be read."""

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree

# Files of this name are being written, and have not got their name yet.
UNFINISHED = ".part"
# What wirecert is given, or this program writes.
GIVEN = {"wirecert.yaml", "failing.yaml", "stdout", "stderr", "log", "fill", "recorded.trace"}


def written(root):
    """The files that wirecert wrote, by their paths below the folder."""
    found = []
    for at, folders, names in os.walk(root):
        folders[:] = [name for name in folders if os.path.join(at, name) not in (f"{root}/tmp", f"{root}/workspace")]
        found += [os.path.relpath(os.path.join(at, name), root) for name in names]
    return sorted(name for name in found if name not in GIVEN)


def faults(root, wirecert, env):
    """What is wrong with the files: a list of texts; and how many unfinished ones are left."""
    found, unfinished, traces = [], 0, []
    for name in written(root):
        path = os.path.join(root, name)
        if name.endswith(UNFINISHED):
            unfinished += 1
        elif name.endswith(".trace"):
            traces.append(name)
        else:
            problem = incomplete(path)
            if problem:
                found.append(f"{name.split('/')[-1]}: {problem}")
    return found + unreadable(root, traces, wirecert, env), unfinished


def incomplete(path):
    """What shows that a file is not whole, "" if nothing does."""
    with open(path, "rb") as file:
        data = file.read()
    kind = path.rpartition(".")[2]
    try:
        if kind in ("json", "sarif", "certificate", "badge-json"):
            json.loads(data)
        elif kind in ("junit", "badge"):
            ElementTree.fromstring(data)
        elif kind == "html" and not data.rstrip().endswith(b"</html>"):
            return "ends without </html>"
        elif kind == "yaml" and not (data.startswith((b"wirecert: 1\n", b"#")) and data.endswith(b"\n")):
            return "no whole scenario"
        elif kind == "new" and not (data.startswith(b"---\n") and data.endswith(b"\n")):
            return "no whole snapshot"
        elif not data.endswith(b"\n") and kind in ("markdown", "tap", "text"):
            return "ends within a line"
    except (ValueError, ElementTree.ParseError) as error:
        return f"cannot be read: {error}"
    return ""


def unreadable(root, traces, wirecert, env):
    """Which traces `check` and `view` do not read."""
    found = []
    cut, empty = [], []
    for name in traces:
        with open(os.path.join(root, name), "rb") as file:
            data = file.read()
        if b"\n" not in data:
            empty.append(name)
        elif not data.rpartition(b"\n")[0].rpartition(b"\n")[2].startswith(b'{"end"'):
            cut.append(name)
    if empty:
        found.append(f"{len(empty)} traces have no header, such as one of {os.path.getsize(os.path.join(root, empty[0]))} bytes")
    # Those without an end line are the interesting ones, and one of the others.
    for name in [*cut[:4], *[trace for trace in traces if trace not in cut + empty][:1]]:
        for words, codes in ((["check", name], (0, 1, 4)), (["view", name], (0,))):
            code, text = quietly([wirecert, *words], root, env)
            if code not in codes:
                found.append(f"trace: {words[0]} gives {code}: {text}")
    return found


def quietly(words, root, env):
    """Runs a command; gives its code and the first line of its stderr."""
    done = subprocess.run(words, cwd=root, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    lines = done.stderr.decode(errors="replace").splitlines()
    return done.returncode, next((line.split(": ", 2)[-1] for line in lines if line.startswith("error")), "")


def missing_marks(root, log, before):
    """The marks that were noted before this time and stand in no trace; how many were noted by then."""
    noted = []
    try:
        with open(log, encoding="utf-8") as file:
            for line in file:
                at, _, mark = line.strip().partition(" ")
                if mark and float(at) < before:
                    noted.append((float(at), mark))
    except OSError:
        return [], 0
    text = b""
    for name in written(root):
        if name.endswith(".trace"):
            with open(os.path.join(root, name), "rb") as file:
                text += file.read()
    return [(at, mark) for at, mark in noted if mark.encode() not in text], len(noted)
