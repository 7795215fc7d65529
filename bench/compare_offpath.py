"""One workload off the path: its peers checked against tiltpy, then timed in turns."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import tiltpy as tilt
from bench.outcome import difference
from bench.peers.offpath import make_peer, table_of
from bench.timing import Runner, Spread, Turns, take_turns
from bench.workloads.offpath.rows import Inputs, OffPath

TILTPY = "tiltpy"


class Subject:
    """A workload's query over its rows, by one worker unless more are asked for."""

    def __init__(self, workload: OffPath, inputs: Inputs) -> None:
        self._workload = workload
        self._query = tilt.parse(workload.query, name=workload.name)
        self._bound: dict[str, Any] = {
            name: rows.bind() for name, rows in inputs.items()
        }

    def run(self, workers: int = 1) -> tilt.Result:
        """Run over rows that are bound, or that nobody has looked at before."""
        given = self._bound if self._workload.bound else self._bind()
        return self._run(given, workers)

    def first(self, workers: int) -> tilt.Result:
        """Run over rows that nobody has looked at before."""
        return self._run(self._bind(), workers)

    def _run(self, given: dict[str, Any], workers: int) -> tilt.Result:
        with warnings.catch_warnings():
            # One row of the tie is hidden where results are those at events.
            warnings.simplefilter("ignore", tilt.TiltWarning)
            order = self._workload.order
            return self._query.run(workers=workers, order=order, **given)

    def run_to_rows(self) -> object:
        """Run; rows in order of time are sorted when their table is asked for."""
        result = self.run()
        return result.to_arrow() if self._workload.order == "time" else result

    def _bind(self) -> dict[str, Any]:
        """Bind the tables once more: nothing is known about them."""
        return {name: replace(binding) for name, binding in self._bound.items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Times of tiltpy and its peers for `events` events, in turns.

    `wrong` says where a peer's result is not tiltpy's; such a peer is not timed.
    """

    workload: OffPath
    events: int
    turns: Mapping[str, Turns]
    wrong: Mapping[str, str]

    def rate(self, runner: str) -> Spread:
        """Million events per second of processor time."""
        turns = self.turns[runner]
        return Spread(tuple(self.events / one.processor / 1e6 for one in turns))

    def ratio(self) -> Spread | None:
        """Divide the rate of tiltpy by that of the best peer, turn by turn."""
        peers = [name for name in self.turns if name != TILTPY]
        if not peers:
            return None
        best = max(peers, key=lambda name: self.rate(name).median)
        pairs = zip(self.turns[TILTPY], self.turns[best], strict=True)
        return Spread(tuple(b.processor / a.processor for a, b in pairs))


def compare(
    workload: OffPath, events: int, seed: int, repeat: int, peers: tuple[str, ...]
) -> Comparison:
    """Check every peer's result, then let all take turns."""
    inputs = workload.inputs(events, seed)
    subject = Subject(workload, inputs)
    expected = table_of(subject.run())
    runners: dict[str, Runner] = {TILTPY: subject.run_to_rows}
    wrong: dict[str, str] = {}
    for name in peers:
        peer = make_peer(name, workload, inputs)
        if peer is None:
            continue
        found = difference(expected, peer.outcome(peer.run()), exact=False)
        if found is None:
            runners[name] = peer.run
        else:
            wrong[name] = found
    del expected
    read = sum(map(len, inputs.values()))
    return Comparison(workload, read, take_turns(runners, repeat), wrong)
