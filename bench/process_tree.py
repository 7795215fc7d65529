"""Processor time of this process and of all below it, running or ended (Linux)."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
"""Clock ticks in a second."""


def processor_seconds() -> float:
    """Add up the processor seconds of a program whose work is in other processes."""
    below: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:  # it has ended
            continue
        # Behind the name, which may have spaces: the state, the parent, ..., user and
        # system time of the process, and both of its children that have ended.
        fields = text[text.rindex(")") + 2 :].split()
        below.setdefault(int(fields[1]), []).append(int(folder.name))
        used[int(folder.name)] = sum(map(int, fields[11:15]))
    waiting, total = [os.getpid()], 0
    while waiting:
        process = waiting.pop()
        total += used.get(process, 0)
        waiting += below.get(process, [])
    return total / TICKS
