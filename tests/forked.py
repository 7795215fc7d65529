"""Cases that may end the process, each tried in a child of this one.

A child goes through the cases one after the other and says what became of each. Where a
signal ends it, the case it was at has that signal, and another child goes on behind it.
"""

import os
import resource
import signal
from collections.abc import Callable, Sequence

LIMIT = 8 << 30
"""Bytes of address space beyond which a child has no memory."""
PATIENCE = 60
"""Seconds for one case, after which it ends with SIGALRM."""
MOST = 500
"""Cases of one child: allocators keep the address space that damage makes them take."""


def try_all(
    cases: Sequence[int], attempt: Callable[[int], str]
) -> dict[int, str | signal.Signals]:
    """Return what `attempt` says of each case, or the signal that ended its process."""
    found: dict[int, str | signal.Signals] = {}
    rest = list(cases)
    while rest:
        part = rest[:MOST]
        lines, status = _go_through(part, attempt)
        for line in lines:
            found[rest.pop(0)] = line
        if len(lines) < len(part):
            assert os.WIFSIGNALED(status), f"case {rest[0]} ended with {status}"
            found[rest.pop(0)] = signal.Signals(os.WTERMSIG(status))
    return found


def _go_through(
    cases: Sequence[int], attempt: Callable[[int], str]
) -> tuple[list[str], int]:
    """A line for each case until the child has ended, and how it has."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            _child(cases, attempt, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return text.splitlines(), status


def _child(cases: Sequence[int], attempt: Callable[[int], str], writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for case in cases:
        signal.alarm(PATIENCE)
        try:
            line = attempt(case)
        except BaseException as error:
            line = f"fault: {type(error).__name__}: {error}"
        os.write(writing, f"{' '.join(line.split())}\n".encode())
    os._exit(0)
