"""The results as tables."""

import collections

BEGIN, END = "<!-- results: written by tests/codecs/run --markdown -->", "<!-- end of results -->"


# Characters of a cell.
MAX_CELL = 100
OUTCOMES = ("holds", "choice", "differs", "skipped")


def counts(rows):
    """For each part and group, in order: how many cases there are, hold, are a choice, differ."""
    found = collections.OrderedDict()
    for row in rows:
        found.setdefault((row.part, row.group), collections.Counter())[row.outcome] += 1
    return found


def lines(rows):
    """The rows of the table."""
    for (part, group), count in counts(rows).items():
        yield [part, group, *(str(n) for n in (sum(count.values()), *(count[name] for name in OUTCOMES)))]


def markdown(rows):
    """The table of a page, and what differs."""
    out = ["| part | group | cases | hold | choice | differ | skipped |", "|---|---|---|---|---|---|---|"]
    out += ["| " + " | ".join(line) + " |" for line in lines(rows)]
    # An `i_` text of JSON has no outcome but what is done with it.
    other = [row for row in rows if row.outcome not in ("holds", "skipped") and row.group != "i"]
    if other:
        out += ["", "| part | group | case | outcome | wirecert | expected |", "|---|---|---|---|---|---|"]
        out += [
            "| " + " | ".join(cell(text) for text in (row.part, row.group, row.case, row.outcome, row.got, row.expected)) + " |"
            for row in other
        ]
    return "\n".join(out) + "\n"


def cell(text):
    """A text that may stand in a table, cut where it is long."""
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= MAX_CELL else text[:MAX_CELL] + "…"


def text(rows):
    """The table for a terminal."""
    header = ["part", "group", "cases", "hold", "choice", "differ", "skipped"]
    all_lines = [header, *lines(rows)]
    widths = [max(len(line[i]) for line in all_lines) for i in range(len(header))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in all_lines)


def update(path, rows):
    """Puts the tables between the two marks of the page."""
    with open(path, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    _, _, after = rest.partition(END)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{markdown(rows)}\n{END}{after}")
