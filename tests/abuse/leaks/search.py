"""Searching what the commands wrote, and the table of it."""

import os

from .forms import Needles, streams
from .places import HIDDEN, NEVER, SHOWN

# Where a command prints what a server sent, which is its purpose: the response to `call`, what a mock of a client answers
# to who drives it.
CONTENT = ("/mock/amp-client/stdout", "/mock/openctx-client/stdout", "/mock/amplifier-client/stdout")


def search(site):
    """All that was found: (column, place) to a list of (file, form, bytes around it)."""
    needles, found = Needles(site.secrets), {}
    out = site.path("out")
    for at, _, names in os.walk(out):
        for name in names:
            path = os.path.join(at, name)
            if path[len(out) :].endswith(CONTENT) or os.path.islink(path):
                continue
            with open(path, "rb") as file:
                data = file.read()
            column = os.path.relpath(path, out).split(os.sep)[0]
            inside = [hit for stream in streams(data) for hit in needles.find(stream)]
            for place, form, around in needles.find(data) + [(p, f"{f}, in a stream", a) for p, f, a in inside]:
                found.setdefault((column, place), []).append((os.path.relpath(path, out), form, around))
    return found


def unseen(places, found, sent):
    """The places that may be shown and were planted, but were found nowhere: the search would miss them elsewhere too."""
    seen = {place for _, place in found}
    planted = {place for _, place in sent}
    return [place.name for place in places if place.promise == SHOWN and place.name in planted - seen]


def summary(hits):
    """What was found in a line for each sort of file, the most telling form first."""
    sorts = {}
    for path, form, around in hits:
        sort = os.path.join(path.split(os.sep)[0], "…" + os.path.basename(path).rpartition(".")[2])
        sorts.setdefault(sort, []).append((form.endswith("part"), path, form, around))
    for sort, members in sorts.items():
        _, path, form, around = min(members, key=lambda member: member[0])
        yield f"{path} ({form}), {len({m[1] for m in members})} files like it: {around!r}"


def broken(place, hits):
    """Whether what was found breaks what is promised of the place."""
    return bool(hits) and place.promise in (HIDDEN, NEVER)


def table(places, columns, found, sent):
    """The table place × command, as Markdown."""
    lines = ["| place | promised | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    words = {HIDDEN: "hidden", NEVER: "never read", SHOWN: "may be shown"}
    for place in places:
        cells = [cell(place, found.get((column, place.name)), (column, place.name) in sent) for column in columns]
        lines.append(f"| {place.about} | {words[place.promise]} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cell(place, hits, was_sent):
    """What stands in the table: `FOUND` breaks the promise, `shown` does not; `·` was planted and not found."""
    if hits:
        return "**FOUND**" if broken(place, hits) else "shown"
    return "·" if was_sent else ""
