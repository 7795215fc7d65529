"""Inputs, their events, and queries that fuse, for the tests of the passes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.ir.nodes import (
    Expr,
    Query,
)
from tiltpy.ir.verify.invariants import verify

Rows = Sequence[tuple[int, int, float]]

INPUTS = """
input m : i64
input n : f64
input s : { a: f64, b: i64 }
t = TDom(-∞, ∞, 1)
"""
M: Rows = [(0, 1, 10), (1, 2, 20), (4, 5, 30), (5, 8, 40), (9, 12, 10), (12, 13, -3)]
N: Rows = [(0, 3, 1.0), (3, 5, -1.0), (6, 7, 2.5), (7, 11, -2.0), (13, 16, 3.0)]
S = [
    Event(0, 2, {"a": 1.0, "b": 1}),
    Event(2, 3, {"a": None, "b": 5}),
    Event(5, 9, {"a": 2.5, "b": None}),
    Event(9, 14, {"a": -1.0, "b": 7}),
]
EVENTS: Mapping[str, Sequence[Event]] = {
    "m": [Event(*row) for row in M],
    "n": [Event(*row) for row in N],
    "s": S,
}


def written(text: str, *, disjoint: bool = False) -> Query:
    """The query of a text after the usual inputs."""
    query = parse(INPUTS + text)
    inputs = tuple(replace(each, disjoint=disjoint) for each in query.inputs)
    return replace(query, inputs=inputs)


def body(expression: str) -> Expr:
    """The body of an output, as written."""
    return written(f"~o[t] = {expression}").definitions[0].body


def defined(query: Query) -> tuple[str, ...]:
    return tuple(definition.name for definition in query.definitions)


def assert_means_the_same(
    query: Query, other: Query, events: Mapping[str, Sequence[Event]] = EVENTS
) -> dict[str, list[Snapshot]]:
    """Both have the same snapshots, to the bit; those are returned."""
    verify(other)
    expected = interpret(query, events)
    found = interpret(other, events)
    assert {name: list(map(repr, rows)) for name, rows in found.items()} == {
        name: list(map(repr, rows)) for name, rows in expected.items()
    }
    return expected


@dataclass(frozen=True)
class Fused:
    """A query, and the definitions that are left of it."""

    name: str
    text: str
    left: str
    disjoint: bool = False


FUSED = (
    Fused(
        "maps",
        "~a[t] = ~m[t] + 1  ~b[t] = ~a[t] * 2  ~o[t] = ~b[t] - ~a[t]",
        "o",
    ),
    Fused("shifts", "~a[t] = ~m[t+3]  ~o[t] = ~a[t-3]", "o"),
    Fused(
        "one gap of a where",
        "~w[t] = ~n[t] > 0 ? ~n[t] : φ  ~o[t] = ~w[t] != φ ? ~w[t] : 0",
        "o",
    ),
    Fused(
        "a where in an untaken branch",
        "~w[t] = ~n[t] > 0 ? ~n[t] : φ  ~o[t] = ~m[t] > 15 ? ~w[t-1] : 0.5",
        "o",
    ),
    Fused(
        "the trend query",
        """~s3[t] = ⊕(+, ~m[t-3:t])  ~s6[t] = ⊕(+, ~m[t-6:t])
           ~a3[t] = ~s3[t] / 3  ~a6[t] = ~s6[t] / 6
           ~j[t] = (~a3[t] != φ && ~a6[t] != φ) ? ~a3[t] - ~a6[t] : φ
           ~o[t] = ~j[t] > 0 ? ~j[t] : φ""",
        "o",
    ),
    Fused(
        "a structure and its fields",
        """~p[t] = ~m[t] > 10 ? { x = ~m[t] * 2, y = ~n[t] } : φ
           ~o[t] = ~p[t] != φ ? ~p[t].x + ~p[t-1].x : 7""",
        "o",
    ),
    Fused(
        "a coarser reader of wide windows",
        """~a[t] = ⊕(+, ~m[t-4:t])
           u = TDom(-∞, ∞, 4)  ~o[u] = ~a[u] * 2""",
        "o",
    ),
    Fused(
        "a coarser reader that would miss what lies between windows",
        """~a[t] = count(~m[t-1:t])
           u = TDom(-∞, ∞, 4)  ~o[u] = ~a[u] * 2""",
        "a o",
    ),
    Fused(
        "a coarser reader that would miss a gap",
        """~w[t] = ~n[t] > 0 ? ~n[t] : φ
           u = TDom(-∞, ∞, 4)  ~o[u] = ~w[u] != φ ? ~w[u] : 0""",
        "w o",
    ),
    Fused(
        "a finer reader",
        "u = TDom(-∞, ∞, 4)  ~a[u] = ~m[u] + 1  ~o[t] = ~a[t] * 2",
        "a o",
    ),
    Fused(
        "grids that do not meet",
        "u = TDom(-∞, ∞, 4)  ~a[u] = ~m[u] + 1  ~o[u] = ~a[u-1] * 2",
        "o",
    ),
    Fused("a finite domain", "v = TDom(2, 9, 1)  ~a[v] = ~m[v]  ~o[t] = ~a[t]", "a o"),
    Fused(
        "a window over a map of an input that may overlap",
        "~a[t] = ~m[t] > 15 ? ~m[t] : φ  ~o[t] = count(~a[t-3:t])",
        "a o",
    ),
    Fused(
        "a window over maps",
        """~a[t] = ~m[t-1] > 15 ? ~m[t-1] : φ  ~b[t] = ~a[t] * 2
           ~o[t] = ⊕(+, ~b[t-3:t]) + count(~a[t-5:t])""",
        "o",
        disjoint=True,
    ),
    Fused(
        "a window whose element ignores what it counts",
        "~a[t] = ~s[t].a  ~o[t] = max(4 for v in ~a[t-1:t])",
        "o",
        disjoint=True,
    ),
    Fused(
        "a window over structures",
        """~p[t] = ~m[t] > 10 ? { x = ~m[t] * 2, y = 1 } : φ
           ~o[t] = count(~p[t-4:t]) + ⊕(max, ~p[t-4:t].x)""",
        "o",
        disjoint=True,
    ),
    Fused(
        "a window over a fill, which is no map",
        "~a[t] = ~m[t] != φ ? ~m[t] : 0  ~o[t] = count(~a[t-3:t])",
        "a o",
        disjoint=True,
    ),
    Fused(
        "a window over a join",
        "~a[t] = ~m[t] + ~n[t]  ~o[t] = ~a[t] - mean(~a[t-5:t])",
        "a o",
        disjoint=True,
    ),
    Fused(
        "a window over a map on a coarse grid",
        """u = TDom(-∞, ∞, 4)
           ~b[u] = sum(~m[u-4:u])  ~c[u] = ~b[u] > 30 ? ~b[u] : φ
           ~o[t] = count(~c[t-9:t])  output ~b  output ~o""",
        "b o",
        disjoint=True,
    ),
    Fused(
        "time as a number",
        "~a[t] = ~m[t] + t  ~o[t] = ~a[t-2] - 1",
        "o",
    ),
    Fused(
        "heavy work at many offsets",
        """~a[t] = mean(~m[t-5:t])
           ~o[t] = ~a[t] + ~a[t-1] + ~a[t-2] + ~a[t-3]""",
        "a o",
    ),
    Fused(
        "heavy outputs, once each",
        "~a[t] = mean(~m[t-5:t])  ~o[t] = ~a[t] * 2  output ~a  output ~o",
        "a o",
    ),
)
