"""Decisions of the wall clock in a live run: when to checkpoint, which inputs idle.

The clock never decides a value. It says when something is promised, and the promise is
part of the checkpoint.
"""

from collections.abc import Callable, Mapping

from tiltpy.lean_dataclass import dataclass

NEVER = float("inf")
BEAT = 1.0
"""Seconds between the heartbeats of an input."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Seconds between checkpoints, and by input: until it idles, behind the clock."""

    checkpoint: float
    idle: Mapping[str, float]
    heartbeat: Mapping[str, float]


class Timers:
    """Tells what is due, by a clock in seconds."""

    def __init__(self, intervals: Intervals, clock: Callable[[], float]) -> None:
        self._intervals = intervals
        self._clock = clock
        now = clock()
        self._checkpoint = now + intervals.checkpoint
        self._idle = {name: now + wait for name, wait in intervals.idle.items()}
        self._beats = dict.fromkeys(intervals.heartbeat, now)

    def wait(self, *, changed: bool) -> float | None:
        """Return the seconds until something is due; None: never.

        Without a change there is nothing to checkpoint.
        """
        due = [*self._idle.values(), *self._beats.values()]
        if changed:
            due.append(self._checkpoint)
        first = min(due, default=NEVER)
        return None if first == NEVER else max(0.0, first - self._clock())

    def note_rows(self, name: str) -> None:
        """Begin to wait for the next rows of an input."""
        if name in self._idle:
            self._idle[name] = self._clock() + self._intervals.idle[name]

    def drop(self, name: str) -> None:
        """Forget an input, which has ended."""
        self._idle.pop(name, None)
        self._beats.pop(name, None)

    def take_idle(self) -> list[str]:
        """List the inputs that have become idle, each once until it has rows again."""
        now = self._clock()
        names = [name for name, due in self._idle.items() if due <= now]
        self._idle.update(dict.fromkeys(names, NEVER))
        return names

    def take_beats(self) -> list[str]:
        """List the inputs whose heartbeat is due."""
        now = self._clock()
        names = [name for name, due in self._beats.items() if due <= now]
        self._beats.update(dict.fromkeys(names, now + BEAT))
        return names

    def is_checkpoint_due(self) -> bool:
        """Tell whether a checkpoint is due."""
        return self._clock() >= self._checkpoint

    def note_checkpoint(self) -> None:
        """Begin to wait for the next checkpoint."""
        self._checkpoint = self._clock() + self._intervals.checkpoint
