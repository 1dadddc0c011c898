"""The rows: what is measured. A row is a function with the decorator `row`; its docstring says what it does."""

import importlib

MODULES = ("mocks", "proxy", "scenarios", "start", "suite", "traces", "load")
ROWS = {}


class Row:
    """One thing that is measured: `measure` takes the context and gives tables."""

    def __init__(self, name, title, measure):
        self.name, self.title, self.measure = name, title, measure
        self.about = " ".join(measure.__doc__.split())


def row(name, title):
    """Makes a row of a function."""

    def register(measure):
        ROWS[name] = Row(name, title, measure)
        return measure

    return register


def every():
    """All rows by their names, in the order of the page."""
    for module in MODULES:
        importlib.import_module(f"rows.{module}")
    return ROWS
