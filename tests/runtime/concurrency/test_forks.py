"""A process may fork at any time, whatever its threads are doing."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable

from tests import ROOT
from tiltpy.codegen.jit import _StrengthReduction
from tiltpy.forks import ForkSafe, cached_property

FORKS = 2


def test_children_of_a_process_that_compiles_live(*, deep: bool) -> None:
    forks = 1000 if deep else FORKS
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.runtime.concurrency.forking", str(forks)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{forks}\n", done.stderr


def in_child(body: Callable[[], bool]) -> bool:
    """Return whether a body holds in a forked process."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(7 if body() else 1)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 7


def held_elsewhere(owner: ForkSafe, body: Callable[[], bool]) -> bool:
    """Tell whether a body holds in a child forked while a thread held a lock."""
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with owner._lock:
            begun.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    try:
        return in_child(body)
    finally:
        done.set()
        thread.join()


def test_a_lock_is_free_in_a_child() -> None:
    one = ForkSafe()
    assert held_elsewhere(one, lambda: one._lock.acquire(timeout=5))
    assert one._lock.acquire(timeout=5)
    assert in_child(lambda: one._lock.acquire(timeout=5))


def test_the_kernels_of_other_threads_are_forgotten() -> None:
    switch = _StrengthReduction()
    with switch.off():
        assert in_child(lambda: switch._kernels == 0)
        assert switch._kernels == 1


class Asked:
    """Counts how often it was asked."""

    times = 0

    @cached_property
    def number(self) -> int:
        """A number."""
        self.times += 1
        return self.times


def test_a_cached_property_is_computed_once() -> None:
    one, other = Asked(), Asked()
    assert one.number == one.number == other.number == 1
    assert one.times == 1
    assert Asked.number.__doc__ == "A number."


def test_no_other_locks_are_held() -> None:
    """Locks and properties that hold one come from `forks`, which a child resets."""
    for path in (ROOT / "tiltpy").rglob("*.py"):
        if path.name != "forks.py":
            text = path.read_text(encoding="utf-8")
            imported = re.findall(
                r"^from (?:functools|threading) import .*", text, re.MULTILINE
            )
            for line in imported:
                assert not re.search(r"\bcached_property\b|Lock\b", line), path
            assert "threading.Lock" not in text, path
            assert "threading.RLock" not in text, path
