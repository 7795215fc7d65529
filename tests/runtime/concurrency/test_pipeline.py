"""Items drawn ahead, and tasks done behind."""

import os
import threading
from collections.abc import Iterator

import pytest

from tiltpy.errors import TiltError
from tiltpy.runtime.concurrency.pipeline import TaskBehind, draw_ahead

WAIT = 10.0


def test_items_come_in_order() -> None:
    assert list(draw_ahead(iter(range(100)))) == list(range(100))
    assert list(draw_ahead(iter(()))) == []


def test_one_item_is_drawn_ahead() -> None:
    drawn: list[int] = []
    reached = threading.Event()

    def items() -> Iterator[int]:
        for number in range(5):
            drawn.append(number)
            if number == 1:
                reached.set()
            yield number

    ahead = draw_ahead(items())
    assert next(ahead) == 0
    assert reached.wait(WAIT)
    assert drawn == [0, 1]
    assert list(ahead) == [1, 2, 3, 4]


def test_errors_come_after_the_items_before_them() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise TiltError("broken")

    ahead = draw_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(TiltError, match="broken"):
        next(ahead)


def test_closing_closes_the_iterator() -> None:
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            yield from range(5)
        finally:
            closed.set()

    ahead = draw_ahead(items())
    assert next(ahead) == 0
    ahead.close()
    assert closed.wait(WAIT)


def test_a_forked_process_is_told() -> None:
    ahead = draw_ahead(iter(range(5)))
    assert next(ahead) == 0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            list(ahead)
        except TiltError:
            code = 7
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert list(ahead) == [1, 2, 3, 4]


def test_tasks_are_done_one_after_the_other() -> None:
    behind, go, done = TaskBehind(), threading.Event(), list[int]()

    def first() -> None:
        assert go.wait(WAIT)
        done.append(1)

    behind.begin(first)
    assert behind.is_busy
    go.set()
    behind.begin(lambda: done.append(2))
    behind.wait()
    assert done == [1, 2]
    assert not behind.is_busy


def test_errors_of_tasks_are_raised_once() -> None:
    def task() -> None:
        raise TiltError("broken")

    behind = TaskBehind()
    behind.begin(task)
    with pytest.raises(TiltError, match="broken"):
        behind.wait()
    behind.wait()
