"""Measures a row, and keeps the page: a section for each row, below a marker."""

import os
import platform
import re
import subprocess
import time

BEGIN, END = "<!-- results: written by benches/compare/run --markdown -->", "<!-- end of results -->"
# Other programs that take more than this part of the processors disturb what is measured.
QUIET = 0.05


def measure(row, context):
    """Measures a row, and gives its section."""
    before, began = busy(), time.monotonic()
    try:
        tables = row.measure(context)
    finally:
        context.stop()
    took, after = time.monotonic() - began, busy()
    head = f"### {row.title}\n\n{row.about}\n\n"
    return head + "\n".join(table.markdown() for table in tables) + "\n" + conditions(context, before, after, took)


def conditions(context, before, after, took):
    """What a section says of how it was measured."""
    kernel = ".".join(platform.release().split(".")[:2])
    text = (
        f"Measured in {took:.0f} s on {time.strftime('%Y-%m-%d')}, {context.repeat} times each: {os.cpu_count()} processors"
        f" ({processor()}), {platform.system()} {kernel}, {version(context.wirecert)}."
        f" Other programs took {before:.0%} of the processors before, {after:.0%} after."
    )
    if max(before, after) > QUIET:
        text += " **Other programs were running: these figures are worse than those of an idle machine.**"
    return text + "\n"


def busy():
    """The part of the processors that is in use now, while nothing of a row runs, from 0 to 1: looked at for two seconds."""

    def ticks():
        with open("/proc/stat", encoding="utf-8") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        # The fourth is idle, the fifth waits for a disk.
        return sum(fields), fields[3] + fields[4]

    (all_before, idle_before), _, (all_after, idle_after) = ticks(), time.sleep(2), ticks()
    return 1 - (idle_after - idle_before) / max(all_after - all_before, 1)


def processor():
    """The name of the processor."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found.group(1).strip() if found else platform.machine()


def version(program):
    """What a program says of its version, its first line."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    words = done.stdout.split("\n", 1)[0].split()
    return " ".join(words[:2])


def update(path, names, name, section):
    """Puts the section of a row between the two marks of the page; those of other rows stay."""
    with open(path, encoding="utf-8") as file:
        before, found, rest = file.read().partition(BEGIN)
    if not found:
        raise ValueError(f"{path} has no line `{BEGIN}`")
    results, _, after = rest.partition(END)
    sections = dict(re.findall(r"<!-- row: (\S+) -->\n(.*?)(?=<!-- row: |\Z)", results, re.DOTALL))
    sections[name] = section
    kept = "".join(f"<!-- row: {one} -->\n{sections[one].rstrip()}\n\n" for one in names if one in sections)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n\n{kept}{END}{after}")
