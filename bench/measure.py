"""One workload, by tiltpy and by its peers: checked against each other, then timed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.outcome import Table, table_of
from bench.peers.registry import make_peer, most_events, with_grouping, with_times
from bench.subject import Subject
from bench.timing import Runner, Spread, Turns, rate, speedup, take_turns
from bench.traffic import bytes_moved
from bench.workloads.streams import Stream, Workload

Streams = Mapping[str, Stream]
ONE_THREAD = ("C", "plain C", "Numba")
"""The peers that use one core; the others use all."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """Options of a measurement: what, and how often."""

    events: int
    seed: int
    repeat: int
    workers: tuple[int, ...]
    peers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of a workload.

    `bytes` are those to be moved for an event. Each runner has its `turns`, and a
    number of events that are `counted` for its rate. `unlike` says where a peer's
    result is another one, `fewer` over how many events a peer ran, if not over all.
    """

    workload: Workload
    bytes: float
    turns: Mapping[str, Turns]
    counted: Mapping[str, int]
    unlike: Mapping[str, str]
    fewer: Mapping[str, int]

    def rate(self, runner: str) -> Spread:
        """Million events per second."""
        return rate(self.counted[runner], self.turns[runner])

    def ratio(self, ours: str, theirs: str) -> Spread | None:
        """Return the rate of one runner over that of another, if both ran."""
        if ours not in self.turns or theirs not in self.turns:
            return None
        alone = ours == tiltpy(1) and theirs in ONE_THREAD
        times = speedup(self.turns[ours], self.turns[theirs], one_thread=alone)
        share = self.counted[ours] / self.counted[theirs]
        return Spread(tuple(share * value for value in times.values))


def tiltpy(workers: int) -> str:
    """Name a run of tiltpy."""
    return f"{workers} worker{'s' * (workers > 1)}"


@dataclass(frozen=True, slots=True)
class _Runners:
    """Runners that are about to be timed, as they are collected."""

    all: dict[str, Runner] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    unlike: dict[str, str] = field(default_factory=dict)
    fewer: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, run: Runner, events: int) -> None:
        """Another runner, whose rate is of so many events."""
        self.all[name] = run
        self.counted[name] = events


def measure(workload: Workload, options: BenchOptions) -> Measured:
    """Check the peers, then let them and tiltpy take turns."""
    streams = workload.make(options.events, options.seed)
    subject = Subject(workload, streams)
    result = subject.run(options.workers[0])
    expected = table_of(result)
    events = counted(workload, streams, expected)
    moved = bytes_moved(workload, streams, result.schema, result.num_rows)
    del result
    runners = _Runners()
    for workers in options.workers:
        runners.add(tiltpy(workers), subject.runner(workers), events)
    for name in options.peers:
        _add_peer(name, workload, options, streams, expected, runners)
    if workload.family == "sampled" or workload.folded:
        for workers in options.workers:
            name = with_times(tiltpy(workers))
            runners.add(name, subject.with_times(workers), events)
        if "C" in options.peers and not workload.folded:
            name = with_times("C")
            _add_peer(name, workload, options, streams, expected, runners)
    if workload.family == "keyed" and not workload.folded:
        for workers in options.workers:
            name = with_grouping(tiltpy(workers))
            runners.add(name, subject.with_grouping(workers), events)
        if "Polars" in options.peers:
            name = with_grouping("Polars")
            _add_peer(name, workload, options, streams, expected, runners)
    del expected
    turns = take_turns(runners.all, options.repeat)
    return Measured(
        workload,
        moved / events,
        turns,
        runners.counted,
        runners.unlike,
        runners.fewer,
    )


def _add_peer(
    name: str,
    workload: Workload,
    options: BenchOptions,
    streams: Streams,
    expected: Table,
    runners: _Runners,
) -> None:
    """Have a peer timed, if there is one and its result is tiltpy's."""
    most = most_events(name, workload)
    if most is not None and most < options.events:
        streams = workload.make(most, options.seed)
        expected = table_of(Subject(workload, streams).run(1))
        runners.fewer[name] = most
    peer = make_peer(name, workload, streams)
    if peer is None:
        return
    wrong = peer.disagreement(workload, expected)
    if wrong is None:
        runners.add(name, peer.run, counted(workload, streams, expected))
    else:
        runners.unlike[name] = wrong


def counted(workload: Workload, streams: Streams, result: Table) -> int:
    """The events that a rate is of: those read, or the snapshots if these are more.

    Snapshots of sampled workloads are cells without times, and do not count.
    """
    events = sum(len(stream.values) for stream in streams.values())
    return events if workload.sampled else max(events, len(result.starts))
