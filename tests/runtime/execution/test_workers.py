"""Sharing work out: results in order, errors and an early end stop everybody."""

import os
import threading
import time
from collections import deque
from contextlib import closing
from functools import partial
from unittest.mock import patch

import pytest

from tiltpy.runtime.concurrency import threads
from tiltpy.runtime.concurrency.workers import map_ordered, run_all


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_come_in_order(workers: int, count: int) -> None:
    def square(number: int) -> int:
        time.sleep(0.0002 * (number % 3))
        return number * number

    found = list(map_ordered(square, range(count), workers))
    assert found == [number * number for number in range(count)]


def test_all_threads_work_at_once_the_callers_too() -> None:
    meeting = threading.Barrier(3, timeout=10)

    def meet(number: int) -> tuple[int, int]:
        meeting.wait()
        return number, threading.get_ident()

    found = list(map_ordered(meet, range(3), 3))
    assert [number for number, _ in found] == [0, 1, 2]
    threads = {thread for _, thread in found}
    assert len(threads) == 3
    assert threading.get_ident() in threads


@pytest.mark.parametrize("by_caller", [True, False])
def test_an_error_of_one_stops_all(*, by_caller: bool) -> None:
    caller, begun, before = threading.get_ident(), [], set(threading.enumerate())
    both = threading.Barrier(2, timeout=10)

    def work(number: int) -> int:
        begun.append(number)
        if number < 2:
            both.wait()
            if (threading.get_ident() == caller) is by_caller:
                raise ValueError(f"number {number}")
        time.sleep(0.001)
        return number

    with pytest.raises(ValueError, match=r"number [01]"):
        list(map_ordered(work, range(10_000), 2))
    assert len(begun) < 100
    assert set(threading.enumerate()) <= before


def test_closing_stops_all() -> None:
    begun = []

    def work(number: int) -> int:
        begun.append(number)
        time.sleep(0.001)
        return number

    with closing(map_ordered(work, range(10_000), 2)) as results:
        assert next(results) == 0
    ended = len(begun)
    assert ended < 100
    time.sleep(0.01)
    assert len(begun) == ended


def test_all_work_is_done_at_once() -> None:
    meeting = threading.Barrier(3, timeout=10)
    seen, stopped = [], []

    def work() -> None:
        meeting.wait()
        seen.append(threading.get_ident())

    for _ in range(5):
        run_all([work] * 3, lambda: stopped.append(len(seen)))
    assert len(seen) == 15
    assert seen.count(threading.get_ident()) == 5
    assert len(stopped) == 5


def test_an_interrupt_of_the_caller_stops_the_others() -> None:
    meeting, stop = threading.Barrier(3, timeout=10), threading.Event()
    ended = []

    def first() -> None:
        meeting.wait()
        raise KeyboardInterrupt

    def another() -> None:
        meeting.wait()
        assert stop.wait(10)
        ended.append(threading.get_ident())

    with pytest.raises(KeyboardInterrupt):
        run_all([first, another, another], stop.set)
    assert len(set(ended)) == 2


def test_threads_stay_for_the_next_work() -> None:
    run_all([list, list, list], list)
    known = set(threading.enumerate())
    for _ in range(10):
        run_all([list, list, list], list)
    assert set(threading.enumerate()) == known


def test_a_forked_process_has_threads_of_its_own() -> None:
    meeting = threading.Barrier(2, timeout=10)
    run_all([meeting.wait] * 2, list)
    child = os.fork()
    if child == 0:
        try:
            meeting = threading.Barrier(2, timeout=10)
            run_all([meeting.wait] * 2, list)
            os._exit(7)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def test_where_no_thread_can_be_had_the_caller_does_it_all() -> None:
    done: list[int] = []
    work = [partial(done.append, 1), partial(done.append, 2)]
    with (
        patch.object(threads, "_idle", deque()),
        patch.object(threading.Thread, "start", side_effect=RuntimeError("no thread")),
    ):
        run_all(work, list)
    assert done == [1]
