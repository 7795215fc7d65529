"""Locks and computed properties that survive a fork.

A child of `os.fork` goes on with the one thread that forked: what another thread had
locked would stay locked for ever. So locks belong to a `ForkSafe`, which has a new one
in the child, and a property that is computed once needs none.
"""

import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

T = TypeVar("T")


class ForkSafe:
    """An object with a lock, `_lock`, that a forked process finds free.

    In the child nobody finishes what other threads were doing under it: whatever it
    guards must be right after each step, or be put right by `after_fork`.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        _FORK_SAFE.add(self)

    def after_fork(self) -> None:
        """Replace the lock, which a thread that the child does not have may hold."""
        self._lock = Lock()


_FORK_SAFE: WeakSet[ForkSafe] = WeakSet()


def _after_fork() -> None:
    for instance in list(_FORK_SAFE):
        instance.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class cached_property(Generic[T]):  # noqa: N801
    """A property that is computed when it is first asked for.

    That of `functools` has a lock before Python 3.12, one for all objects. Threads that
    ask at once may each compute it here, and all get what the first has found.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value: T = vars(instance).setdefault(self._name, self._compute(instance))
        return value
