"""The results as tables of a page: a kind a row, a role a column."""

import re

import kinds

from .play import MB

BEGIN, END = "<!-- results: written by tests/abuse/run --markdown -->", "<!-- end of results -->"
# Bytes.
MAX_PEAK = 100 * MB
SHORT = {
    "amp-server": "amp-server",
    "openctx-provider": "provider",
    "openctx-module": "module",
    "amplifier-server": "amplifier-server",
    "amp-client": "amp-client",
    "openctx-client": "openctx-client",
    "amplifier-client": "amplifier-client",
}


def update(path, every, outcomes):
    """Puts the tables between the two marks of the page; results of earlier runs that these do not replace are kept."""
    with open(path, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    _, _, after = rest.partition(END)
    cells = {**earlier(rest), **{(o["kind"], o["role"]): cell(o) for o in outcomes}}
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n\n" + tables(every, cells) + END + after)


def cell(outcome):
    """What stands in the table for a play: the exit code, seconds, and the most megabytes of wirecert."""
    if outcome["skipped"]:
        return "not played"
    code = "killed" if outcome["code"] is None else outcome["code"]
    text = f"{code} · {outcome['seconds']:.0f} s · {outcome['peak'] / MB:.0f} MB"
    return f"**{text}**" if outcome["faults"] or outcome["peak"] > MAX_PEAK else text


def earlier(text):
    """The cells of tables that were written before."""
    cells, roles = {}, []
    names = {short: role for role, short in SHORT.items()}
    for line in text.splitlines():
        columns = [column.strip() for column in line.strip("|").split("|")]
        if line.startswith("| kind |"):
            roles = [names.get(name) for name in columns[2:]]
        elif re.match(r"\| `", line):
            for role, column in zip(roles, columns[2:]):
                if role and column:
                    cells[(columns[0].strip("`"), role)] = column
    return cells


def tables(every, cells):
    """A table for each group of kinds that have the same roles, so that no column is empty."""
    out = []
    groups = {}
    for kind in every:
        if any((kind.name, role) in cells for role in kind.roles):
            groups.setdefault(kind.act.__module__.rsplit(".", 1)[-1], []).append(kind)
    for name, group in groups.items():
        roles = [role for role in kinds.ROLES if any(role in kind.roles for kind in group)]
        out.append(f"### {TITLES.get(name, name)}\n\n")
        out.append("| " + " | ".join(["kind", "what it does", *[SHORT[role] for role in roles]]) + " |\n")
        out.append("|---|---|" + "---|" * len(roles) + "\n")
        for kind in group:
            results = [cells.get((kind.name, role), "") for role in roles]
            out.append("| " + " | ".join([f"`{kind.name}`", kind.about.replace("|", "\\|"), *results]) + " |\n")
        out.append("\n")
    return "".join(out)


TITLES = {
    "process": "Processes",
    "documents": "JSON",
    "files": "Files",
    "connection": "Connections",
    "http": "HTTP",
    "frames": "WebSocket",
    "streams": "Event streams",
    "driver": "The output of driven clients",
    "module": "JavaScript modules",
    "suites": "The whole suite",
}
