"""Work that threads share: in order, in portions, once, and with its errors."""

from threading import get_ident

import pytest

from tests.costs import default_costs
from tiltpy.runtime.concurrency.offload import allow_threads, allowed_threads, offload
from tiltpy.runtime.concurrency.workers import map_ordered, map_portions, portions


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order(workers: int) -> None:
    assert list(map_ordered(lambda n: n * n, range(50), workers)) == [
        n * n for n in range(50)
    ]


@pytest.mark.parametrize("workers", [2, 3])
def test_an_error_ends_all(workers: int) -> None:
    done = []

    def fail_at_ten(number: int) -> None:
        done.append(number)
        if number == 10:
            raise ValueError("ten")

    with pytest.raises(ValueError, match="ten"):
        list(map_ordered(fail_at_ten, range(100_000), workers))
    assert len(done) < 100_000


def test_closing_stops_the_others() -> None:
    results = map_ordered(lambda n: n, range(100_000), 2)
    assert next(results) == 0
    results.close()


def test_one_thread_has_all_rows() -> None:
    assert list(portions(1 << 30)) == [slice(0, 1 << 30)]
    assert map_portions(lambda rows: rows, 0) == [slice(0, 0)]


@pytest.mark.parametrize("rows", [0, 1, 7, 64, 1001])
def test_portions_are_all_rows(rows: int) -> None:
    with default_costs(portion_rows=3), allow_threads(2):
        found = map_portions(lambda portion: range(rows)[portion], rows)
    assert [row for portion in found for row in portion] == list(range(rows))
    assert len(found) == max(1, min(8, rows // 3))


def test_parts_are_not_shared_once_more() -> None:
    def thread(_: object) -> tuple[int, int]:
        return get_ident(), allowed_threads()

    with default_costs(portion_rows=1), allow_threads(2):
        found = map_portions(thread, 1000)
        assert allowed_threads() == 2
    assert {threads for _, threads in found} == {1}
    assert allowed_threads() == 1


def test_long_work_may_share_as_its_caller() -> None:
    with allow_threads(3):
        assert offload(allowed_threads) == 3
    assert offload(allowed_threads) == 1
