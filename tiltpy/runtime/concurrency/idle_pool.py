"""Pools of objects that one thread at a time uses, such as a call and its memory."""

from typing import Any

MOST_IDLE = 4
"""Objects that stay in a pool, at most."""


class IdlePool:
    """Objects that nobody uses now, each with the terms on which it serves.

    Threads need no lock: a list's own methods are atomic. An object that an error has
    left half-way is not put back.
    """

    def __init__(self) -> None:
        self._idle: list[tuple[object, Any]] = []

    def __len__(self) -> int:
        """Count the objects."""
        return len(self._idle)

    def take(self, terms: object) -> Any:
        """Take an object that serves on some terms; None if there is none."""
        for entry in list(self._idle):
            if entry[0] == terms:
                try:
                    self._idle.remove(entry)
                except ValueError:  # another thread has taken it
                    continue
                return entry[1]
        return None

    def put_back(self, terms: object, idle: object) -> None:
        """Have an object stay for whoever asks on the same terms; the oldest go."""
        self._idle.append((terms, idle))
        del self._idle[:-MOST_IDLE]
