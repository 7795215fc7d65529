"""`python -m tests.runtime.concurrency.forking FORKS`: fork while threads compile.

Each child parses, compiles and runs queries of its own, and one that the threads may
just be compiling. Prints how many ended well; one that waits says where, and ends.
"""

import faulthandler
import os
import sys
import threading
import time
from itertools import count
from random import Random
from typing import Self

import numpy as np
import pyarrow as pa

import tiltpy as tilt
from tests.costs import set_default_costs
from tiltpy.codegen.jit import _STRENGTH_REDUCTION

ROWS = 40_000
"""So many that the outputs lie in the pool's memory, and are shared out to threads."""
LIMIT = 60.0
"""Seconds after which a child is taken to wait for ever."""
TICKS = np.arange(ROWS)
FRAME = pa.table({"time": TICKS, "x": np.ones(ROWS), "key": TICKS % 7})
PLAIN = "input x : f64 time time until_next\n~o[t] = sum(~x[t-{0} : t]) + {1}\n"
KEYED = PLAIN.replace("input x", "input x by key")
SOME = tilt.CompileOptions(cache=False)


def compiled(number: int, *, keyed: bool) -> tilt.CompiledQuery:
    """A query like no other before it."""
    text = (KEYED if keyed else PLAIN).format(number % 100 + 1, number)
    return tilt.parse(text, options=SOME)


def run(query: tilt.CompiledQuery) -> int:
    """Return how many rows a query gives."""
    return query.run(x=FRAME, workers=2, chunk=ROWS // 4).num_rows


class Work:
    """Threads that compile and run queries until they are told to stop."""

    def __init__(self) -> None:
        self.shared = compiled(0, keyed=False)
        self._numbers = count(1)
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(keyed,))
            for keyed in (False, False, True)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, keyed: bool) -> None:
        while not self._stop.is_set():
            number = next(self._numbers)
            if number % 3 == 0:
                self.shared = compiled(number, keyed=False)
            run(self.shared)
            run(compiled(number, keyed=keyed))


def live(work: Work, number: int) -> None:
    """The life of a child."""
    code = 1
    try:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        assert threading.active_count() == 1
        assert _STRENGTH_REDUCTION._kernels == 0
        assert run(work.shared) > 0
        assert run(compiled(-number, keyed=number % 2 == 0)) > 0
        code = 0
    finally:
        os._exit(code)


def main(forks: int) -> int:
    """Return how many children ended well."""
    set_default_costs(baseline_rows=0)
    random, well = Random(forks), 0  # noqa: S311
    run(compiled(0, keyed=False))
    with Work() as work:
        for number in range(forks):
            time.sleep(random.random() * 0.03)
            child = os.fork()
            if child == 0:
                live(work, number)
            _, status = os.waitpid(child, 0)
            well += os.waitstatus_to_exitcode(status) == 0
    return well


if __name__ == "__main__":
    print(main(int(sys.argv[1])))
