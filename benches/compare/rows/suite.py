"""The whole suite."""

from measure.figures import Table, goal, middle, show

from . import row


@row("suite", "The whole suite")
def suite(context):
    """`wirecert certify --self --strict`: all scenarios against the mocks of all six roles. There is no rival."""
    command = (context.wirecert, "certify", "--self", "--strict", "--progress", "none", "-q")
    # 3: a play could not be judged, because the machine was too busy.
    first = context.time(*command, codes=(0, 3))
    found = [context.time(*command, codes=(0, 3)) for _ in range(context.repeat)]
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
    incomplete = sum(one["code"] == 3 for one in found)
    if incomplete:
        table.note(
            f"In {incomplete} of {len(found)} runs, the machine was too busy for a play to be judged (exit code 3)."
        )
    return [table]
