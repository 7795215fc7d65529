"""Keys that are due, listed without a look at all others."""

from random import Random

import numpy as np
import pytest

from tiltpy.runtime.keyed import due_times
from tiltpy.runtime.keyed.due_times import NEVER, DueTimes
from tiltpy.runtime.keyed.key_records import KeyRecords


@pytest.mark.parametrize("seed", range(8))
def test_the_keys_due_are_listed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where times change both ways, keys are added, and a state is restored."""
    monkeypatch.setattr(due_times, "LEAST_LISTED", 4)
    random, known, clock = Random(seed), dict[int, int](), 0  # noqa: S311
    records = KeyRecords()
    due = DueTimes(records)
    for _ in range(300):
        count = len(known) + random.choice((0, 0, 5))
        records.grow(count)
        known |= dict.fromkeys(range(len(known), count), NEVER)
        some = random.sample(range(count), min(count, 6))
        times = [
            random.choice((-NEVER, NEVER, clock + random.randint(0, 40))) for _ in some
        ]
        due.set(np.array(some, np.int64), np.array(times, np.int64))
        known |= dict(zip(some, times, strict=True))
        if random.random() < 0.05:
            saved, records = records.save(), KeyRecords()
            due = DueTimes(records)
            records.restore(saved)
            due.restore()
        clock += random.choice((0, 1, 3, 30))
        taken = due.take(clock)[0]
        assert {*taken.tolist()} == {key for key in known if known[key] <= clock}
        again = np.unique(taken)
        due.set(again, np.array([known[key] for key in again.tolist()], np.int64))


def test_others_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """All keys are looked through once for many that become due."""
    searches = []
    look = DueTimes._look_through

    def look_through(self: DueTimes, time: int) -> None:
        searches.append(time)
        look(self, time)

    monkeypatch.setattr(DueTimes, "_look_through", look_through)
    records, keys = KeyRecords(), 1 << 14
    due = DueTimes(records)
    records.grow(keys)
    due.set(np.arange(keys), np.arange(keys))
    for time in range(4096):
        now = due.take(time)[0]
        assert now.tolist() == [time]
        due.set(now, now + keys)
    assert len(searches) <= 4


def test_keys_that_are_never_due_are_not_listed() -> None:
    """Nor are many that are due together, before they are."""
    records, keys = KeyRecords(), 1 << 14
    due = DueTimes(records)
    records.grow(keys)
    due.set(np.arange(9), np.arange(9))
    assert due.take(0)[0].tolist() == [0]
    due.set(np.arange(1), np.arange(1))
    for first in range(9, keys, 1000):
        some = np.arange(first, min(first + 1000, keys))
        due.set(some, np.full(len(some), NEVER))
        again = due.take(1)[0]
        due.set(again, again)
    assert due._listed <= 9
    due.set(np.arange(100, keys), np.full(keys - 100, 50))
    for time in range(2, 50):
        again = due.take(time)[0]
        assert sorted(again.tolist()) == list(range(min(time + 1, 9)))
        due.set(again, again)
        assert due._listed <= keys // 8
    assert sorted(due.take(50)[0].tolist()) == [*range(9), *range(100, keys)]
