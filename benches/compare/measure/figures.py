"""Figures with their spread, and the tables that they stand in."""

import statistics

# How figures are written: the factor, and the unit behind them.
UNITS = {
    "s": (1, " s"),
    "ms": (1e3, " ms"),
    "µs": (1e6, " µs"),
    "MB": (1e-6, " MB"),
    "/s": (1, "/s"),
    "x": (1, " ×"),
}


def quartiles(values):
    """The first quartile, the median and the third."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    first, middle, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, middle, third


def number(value, unit):
    """A number with three digits that count, without its unit."""
    value *= UNITS[unit][0]
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def show(values, unit):
    """A median, with the quartiles behind it."""
    if not values:
        return "–"
    first, middle, third = quartiles(values)
    text = number(middle, unit) + UNITS[unit][1]
    return text if len(values) == 1 else f"{text} ({number(first, unit)}–{number(third, unit)})"


def ratios(ours, theirs):
    """What ours is of theirs, for each pair that was measured one after the other."""
    return [our / their for our, their in zip(ours, theirs) if their]


class Table:
    """A table: a head, and rows of text. `notes` stand below it."""

    def __init__(self, *head):
        self.head, self.rows, self.notes = head, [], []

    def row(self, *cells):
        """Adds a row."""
        self.rows.append(cells)

    def note(self, text):
        """Adds a sentence below the table."""
        self.notes.append(text)

    def markdown(self):
        """The table as Markdown."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        text = "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)
        return text + "".join(f"\n{note}\n" for note in self.notes)


def goal(text, value, met):
    """The cell of a goal: what it is, and whether it is met."""
    return f"{text}: {'met' if met(value) else '**missed**'}"


def middle(values):
    """The median."""
    return statistics.median(values)


def growth(sizes, costs, one="one"):
    """A word for how cost grows from the second size to the last (the first holds what does not grow, such as starting)."""
    first = 1 if len(sizes) > 2 else 0
    factor = (costs[-1] / sizes[-1]) / (costs[first] / sizes[first])
    word = "linear" if 0.67 <= factor <= 1.5 else "less than linear" if factor < 0.67 else "**more than linear**"
    times = f"{sizes[-1] / sizes[first]:.3g}"
    return f"{word} (×{times}: {one} costs {factor:.2f} × as much)"
