"""Seeded random queries by key: the other random queries, over rows of many keys.

`random_keyed_case(seed, ...)` takes a case of `random_queries`, `random_payloads` or
`random_grids`, gives some of its inputs key columns, and draws rows of many keys for
them (`random_key_rows`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import lcm
from random import Random

import pyarrow as pa

from tests.compiled import with_null_rows
from tests.random.grids import random_grid_case
from tests.random.interval_cells import with_interval_cells
from tests.random.key_columns import Family, random_family, written
from tests.random.key_rows import KeyedInput, Row, RowWriter
from tests.random.made_strings import random_text_case
from tests.random.open_windows import open_windows as with_open_windows
from tests.random.pane_folds import FoldWriter
from tests.random.payloads import random_payload_case
from tests.random.present import random_present_case
from tests.random.queries import Case, random_case
from tests.random.row_queries import random_row_case
from tests.random.streams import StreamMaker
from tiltpy.interpreter.evaluate import Event, Snapshot
from tiltpy.interpreter.keys import ByKey, Key, interpret_by_key
from tiltpy.ir.cuts import reads
from tiltpy.ir.keys import keys_of
from tiltpy.ir.nodes import Query
from tiltpy.lifetimes import FixedDuration, Interval, Lifetime, Point
from tiltpy.types import Struct

KEY_SETS = (("key",), ("key",), ("key",), ("part", "site"), ("part", "site"), ("site",))


@dataclass(frozen=True, slots=True)
class KeyedCase:
    """A query, the rows of each input, and the arguments of a run."""

    query: Query
    inputs: Mapping[str, KeyedInput]
    start: int | None
    end: int | None
    bounds: Mapping[str, int]
    families: Mapping[str, Family]

    def key_types(self, names: tuple[str, ...]) -> list[pa.DataType]:
        """In which types the key columns of outputs go out: of those they refer to."""
        outputs = [n for n in self.query.outputs if keys_of(self.query, n) == names]
        seen = inputs_seen(self.query)
        read = set().union(*(seen[output] for output in outputs))
        types = [
            one.types
            for name, one in self.inputs.items()
            if name in read and one.declared.keys == names
        ]
        return [
            self.families[name].joined(kinds)
            for name, kinds in zip(names, zip(*types, strict=True), strict=True)
        ]

    def without_keys(self) -> Case:
        """All rows as if they had no keys."""
        events = {
            name: [event for rows in one.by_key().values() for event in rows]
            for name, one in self.inputs.items()
        }
        return Case(self.query, events, self.start, self.end, dict(self.bounds))

    def expected(self) -> dict[str, dict[Key, list[Snapshot]]]:
        """Return what the query means: the snapshots of each key of each output."""
        events: dict[str, ByKey | Sequence[Event]] = {}
        for name, one in self.inputs.items():
            by_key = one.by_key()
            events[name] = by_key if one.declared.keys else by_key.get((), [])
        inputs = tuple(  # where a row is stamped depends on how it is bound
            replace(one, lifetime=self.inputs[one.name].lifetime)
            for one in self.query.inputs
        )
        query = replace(self.query, inputs=inputs)
        return interpret_by_key(
            query, events, start=self.start, end=self.end, bounds=self.bounds
        )


# -- a case ---------------------------------------------------------------------------


def random_keyed_case(
    seed: int,
    *,
    exact: bool,
    specials: bool = False,
    grid: bool = False,
    open_windows: bool = False,
    over_rows: bool = False,
    texts: bool = False,
    over_cells: bool = False,
) -> KeyedCase:
    """A query and the rows of its inputs; the same for the same seed.

    `grid`: of those that vector kernels are for, with few keys. `open_windows`: with
    windows of no fixed length, where there can be any. `over_rows`: of
    objects that are defined over rows; `over_cells`: over the cells of an input.
    `texts`: of those that make strings.
    """
    random = Random(f"keys {seed}")  # noqa: S311 - tests, not secrets
    draw = random_payload_case if random.random() < 0.25 else random_case
    if grid:
        draw = random_grid_case
    if over_rows:
        draw = random_row_case
    if texts:
        draw = random_text_case
    case = draw(seed, exact=exact, specials=specials)
    if open_windows:
        drawn = case if over_rows else random_case(seed, exact=True)
        case = with_open_windows(drawn, seed) or case
        if not over_rows and seed % 4 == 0:
            case = random_present_case(seed, opened=True)
    if over_cells:
        case = with_interval_cells(case, seed, beside=True)
    keys = _key_sets(random, case.query)
    inputs = tuple(replace(one, keys=keys[one.name]) for one in case.query.inputs)
    families = {
        name: random_family(random) for name in sorted(set(sum(keys.values(), ())))
    }
    count = random.choice((1, 2, 3) if grid else (0, 1, 2, 3, 3, 5, 5, 5, 8, 8, 12, 30))
    pools = {
        names: _pool(random, [families[name] for name in names], count)
        for names in sorted(set(keys.values()))
    }
    maker = None if grid else _maker(random, case, exact=exact, specials=specials)
    writer = RowWriter(random, maker)
    rows = {
        one.name: (writer.cells if one.cells else writer.input)(
            one,
            case.events[one.name],
            pools[one.keys],
            [families[name] for name in one.keys],
        )
        for one in inputs
    }
    query = replace(case.query, inputs=inputs)
    return KeyedCase(query, rows, case.start, case.end, case.bounds, families)


def random_fold_case(seed: int) -> KeyedCase:
    """Windows that can be folded without grouping, mostly over rows that allow it."""
    random = Random(f"folds {seed}")  # noqa: S311 - tests, not secrets
    case = FoldWriter(seed).case()
    names = random.choice(KEY_SETS)
    families = {name: random_family(random) for name in names}
    pool = _pool(random, list(families.values()), random.choice((1, 2, 3, 8, 40)))
    (declared,) = case.query.inputs
    lifetime: Lifetime = Interval("start", "end")
    if random.random() < 0.5:
        lifetime = FixedDuration(case.length)
    rows = [
        Row(
            tuple(written(random, value) for value in pool[row.key % len(pool)]),
            start,
            start + 1 if isinstance(lifetime, FixedDuration) else end,
            value,
        )
        for row in case.rows
        for start, end, value in (row.event,)
    ]
    if random.random() < 0.1:
        random.shuffle(rows)
    declared = replace(declared, keys=names, lifetime=None)
    types = tuple(random.choice(family.types) for family in families.values())
    in_column = isinstance(declared.type, Struct) and random.random() < 0.2
    if random.random() < 0.3:
        lifetime = Point()
    one = KeyedInput(declared, lifetime, tuple(rows), types, None, in_column)
    query = replace(case.query, inputs=(declared,))
    return KeyedCase(query, {"x": one}, case.start, case.end, {}, families)


def random_regular_case(seed: int, *, exact: bool, specials: bool) -> KeyedCase:
    """Queries that vector kernels are for, over keys most of whose rows are as regular.

    A key's rows are those of the case from anywhere on, moved by some of the periods at
    which all of its inputs repeat; a few are moved out of step.
    """
    random = Random(f"regular {seed}")  # noqa: S311 - tests, not secrets
    case = random_grid_case(seed, exact=exact, specials=specials)
    lengths = {e.end - e.start for events in case.events.values() for e in events}
    step = lcm(*lengths) if len(lengths) < len(case.events) + 1 else 1
    family = random_family(random)
    pool = _pool(random, [family], random.choice((1, 2, 3, 4)))
    moved = {key: random.choice((0, 0, 1, 2, -5, 40)) * step for key in pool}
    keyed = [one.name for one in case.query.inputs if random.random() < 0.8]
    inputs, rows = [], {}
    for one in case.query.inputs:
        by_key = one.name in keyed or not keyed
        made: list[Row] = []
        for key in pool if by_key else [()]:
            by = moved.get(key, 0) + (random.random() < 0.1)
            events = (
                _some(random, case.events[one.name])
                if by_key
                else case.events[one.name]
            )
            made += [
                Row(key, start + by, end + by, value)
                for start, end, value in with_null_rows(events, "samples")
            ]
        if random.random() < 0.5:
            made.sort(key=lambda row: row.start)
        declared = replace(one, keys=("key",) if by_key else (), lifetime=None)
        types = (random.choice(family.types),) if by_key else ()
        in_column = isinstance(one.type, Struct)
        rows[one.name] = KeyedInput(
            declared, Interval("start", "end"), tuple(made), types, None, in_column
        )
        inputs.append(declared)
    query = replace(case.query, inputs=tuple(inputs))
    bounds = case.start, case.end, case.bounds
    return KeyedCase(query, rows, *bounds, {"key": family})


def _some(random: Random, events: Sequence[Event]) -> Sequence[Event]:
    """Those from anywhere on up to anywhere, mostly nearly all of them."""
    if random.random() < 0.1:
        return events[: random.choice((1, 2, 20, len(events) // 2))]
    skipped = random.choice((0, 0, 0, 1, 3))
    kept = len(events) - random.choice((0, 0, 0, 1, 2))
    return events[skipped:kept] or events[:1]


def _key_sets(random: Random, query: Query) -> dict[str, tuple[str, ...]]:
    """Key columns for some inputs, at least one; those that meet have the same."""
    sets: dict[str, tuple[str, ...]] = {}
    while not any(sets.values()):
        for group in _that_meet(query):
            keys = random.choice(KEY_SETS)
            for name in sorted(group):
                sets[name] = keys if random.random() < 0.75 else ()
    return sets


def _that_meet(query: Query) -> list[set[str]]:
    """The inputs in groups: no object refers to two of different groups."""
    groups = [{one.name} for one in query.inputs]
    for seen in inputs_seen(query).values():
        met = [one for one in groups if one & seen]
        groups = [one for one in groups if not one & seen]
        groups += [set().union(*met)] if met else []
    return sorted(groups, key=min)


def inputs_seen(query: Query) -> dict[str, set[str]]:
    """The inputs that each object refers to, through others too."""
    seen = {one.name: {one.name} for one in query.inputs}
    for definition in query.definitions:
        seen[definition.name] = set().union(*(seen[n] for n in reads(definition)))
    return seen


def _pool(random: Random, families: Sequence[Family], count: int) -> list[Key]:
    """Some keys, of values that each column may have."""
    if not families:
        return [()]
    keys = list(dict.fromkeys(product(*(family.pool for family in families))))
    return random.sample(keys, min(count, len(keys)))


def _maker(random: Random, case: Case, *, exact: bool, specials: bool) -> StreamMaker:
    """For more streams in about the times of a case."""
    maker = StreamMaker(random, exact=exact, specials=specials)
    events = [event for some in case.events.values() for event in some]
    if events:
        maker.start = min(event.start for event in events)
        maker.end = maker.start + random.choice((6, 12, 30))
    return maker
