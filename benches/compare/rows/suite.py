"""The whole suite."""

from measure.figures import Table, goal, middle, show

from . import row


@row("suite", "The whole suite")
def suite(context):
    """`wirecert certify --self --strict`: all scenarios against the mocks of all six roles. There is no rival."""
    command = (context.wirecert, "certify", "--self", "--strict", "--progress", "none", "-q")
    first = context.time(*command)
    found = [context.time(*command) for _ in range(context.repeat)]
    seconds = [one["seconds"] for one in found]
    table = Table("", "time", "goal", "first run", "processor time", "memory")
    table.row(
        "six mocks",
        show(seconds, "s"),
        goal("< 4 s", middle(seconds), lambda value: value < 4),
        show([first["seconds"]], "s"),
        show([one["processor"] for one in found], "s"),
        show([max(one["peak"] for one in found)], "MB"),
    )
    return [table]
