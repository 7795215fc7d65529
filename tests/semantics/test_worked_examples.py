"""Worked examples and edges: the meaning of queries as stated snapshots."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from tests.compare import same_number
from tests.run_everywhere import run_everywhere
from tiltpy.errors import DataError
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event, Value
from tiltpy.interpreter.scalars import Number

Rows = Sequence[tuple[int, int, Value]]
NAN, INF = math.nan, math.inf
LEAST, MOST = -(2**63), 2**63 - 1

M: Rows = [(0, 1, 10), (1, 2, 20), (4, 5, 30), (5, 8, 40)]
"""The input of most worked examples."""


def check(
    text: str,
    expected: Rows | Mapping[str, Rows],
    *,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
    **inputs: Rows,
) -> None:
    """Run a text over given events and compare its outputs with what is stated."""
    check_over(inputs, text, expected, start=start, end=end, bounds=bounds)


def check_over(
    inputs: Mapping[str, Rows],
    text: str,
    expected: Rows | Mapping[str, Rows],
    *,
    start: int | None = None,
    end: int | None = None,
    bounds: Mapping[str, int] | None = None,
) -> None:
    query = parse(text)
    events = {name: [Event(*row) for row in rows] for name, rows in inputs.items()}
    found = run_everywhere(query, events, start=start, end=end, bounds=bounds)
    if not isinstance(expected, Mapping):
        expected = {query.outputs[0]: expected}
    assert list(found) == list(expected)
    for name, rows in expected.items():
        assert [tuple(s) for s in found[name]] == [tuple(row) for row in rows], name
        types = [repr(s.value) for s in found[name]]
        assert types == [repr(value) for _, _, value in rows], name


def values(
    declaration: str, expression: str, rows: Sequence[Value]
) -> list[Value | None]:
    """The value of an expression over `~x[t]` for each of some payloads, None for φ."""
    query = parse(f"input x : {declaration}\n~o[t] = {expression}")
    events = [Event(i, i + 1, row) for i, row in enumerate(rows)]
    found = {s.end: s.value for s in run_everywhere(query, {"x": events})["o"]}
    return [found.get(i + 1) for i in range(len(rows))]


def reduced(scalar: str, reduction: str, rows: Sequence[Value]) -> Value | None:
    """A reduction of some payloads, which stand one after the other in one window."""
    query = parse(f"input x : {scalar}\n~o[t] = {reduction}")
    events = [Event(i, i + 1, row) for i, row in enumerate(rows)]
    last = run_everywhere(query, {"x": events}, end=len(rows))["o"]
    return last[-1].value if last and last[-1].end == len(rows) else None


def assert_numbers(
    found: Sequence[Value | None], expected: Sequence[Number | None]
) -> None:
    """Check that numbers are the same to the bit; NaN is NaN."""
    assert len(found) == len(expected)
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert not isinstance(one, Mapping)
        assert same_number(one, other, 0), f"{i}: {one!r}, expected {other!r}"


# The worked examples


@dataclass(frozen=True)
class Example:
    """A worked example: a text, its inputs and domain, and the stated snapshots."""

    name: str
    text: str
    expected: Rows | Mapping[str, Rows]
    inputs: Mapping[str, Rows] = field(default_factory=lambda: {"m": M})
    start: int | None = None
    end: int | None = None

    def outputs(self, only: str) -> dict[str, list[tuple[int, int, Value]]]:
        """The stated snapshots by output; `only` names it where there is one."""
        stated = self.expected
        by_name = stated if isinstance(stated, Mapping) else {only: stated}
        return {name: list(rows) for name, rows in by_name.items()}


EXAMPLES = [
    Example(
        "select",
        "input m : i64\n~o[t] = ~m[t] + 1",
        [(0, 1, 11), (1, 2, 21), (4, 5, 31), (5, 8, 41)],
    ),
    Example(
        "sliding sum",
        "input m : i64\n~o[t] = ⊕(+, ~m[t-2:t])",
        [(0, 1, 10), (1, 2, 30), (2, 3, 20), (4, 5, 30), (5, 6, 70), (6, 8, 40)],
        start=0,
        end=8,
    ),
    Example(
        "tumbling sum",
        "input m : i64\nt = TDom(-∞, ∞, 4)\n~o[t] = ⊕(+, ~m[t-4:t])",
        [(0, 4, 30), (4, 8, 70)],
        start=0,
        end=8,
    ),
    Example(
        "shift",
        "input m : i64\n~o[t] = ~m[t-1]",
        [(1, 2, 10), (2, 3, 20), (5, 6, 30), (6, 8, 40)],
        start=0,
        end=8,
    ),
    Example(
        "intermediates are not cut",
        "input m : i64\n~a[t] = ~m[t+3]\n~b[t] = ~a[t-3]",
        M,
    ),
    Example(
        "one gap of an intermediate",
        "input n : i64\n~w[t] = ~n[t] > 0 ? ~n[t] : φ\n~z[t] = ~w[t] != φ ? ~w[t] : 0",
        [(0, 1, 1), (1, 3, 0), (3, 4, 3)],
        {"n": [(0, 1, 1), (1, 2, -1), (2, 3, -2), (3, 4, 3)]},
    ),
    Example(
        "windows and points over a coarse grid",
        """input k : i64
        t = TDom(-∞, ∞, 10)
        ~counted[t] = count(~k[t-2:t])
        ~seen[t] = ~k[t] != φ
        output ~counted, ~seen""",
        {"counted": [(0, 20, 0)], "seen": [(0, 10, False), (10, 20, False)]},
        {"k": [(14, 15, 1)]},
        start=0,
        end=20,
    ),
    Example(
        "figure 4",
        """input m : i64
        input n : i64
        t = TDom(-∞, ∞, 1)
        ~select[t] = ~m[t] + 1
        ~where[t] = (~m[t]%2 == 0) ? ~m[t] : φ
        ~join[t] = (~m[t] != φ && ~n[t] != φ) ?
                   (~m[t] + ~n[t]) : φ

        t' = TDom(-∞, ∞, 5)
        ~wsum[t'] = ⊕(+, ~m[t'-10 : t'])""",
        {
            "select": [(0, 1, 2), (1, 2, 3), (4, 5, 4), (5, 8, 5)],
            "where": [(1, 2, 2), (5, 8, 4)],
            "join": [(0, 1, 11), (1, 2, 12), (4, 5, 23), (5, 6, 24)],
            "wsum": [(0, 5, 6), (5, 10, 10)],
        },
        {
            "m": [(0, 1, 1), (1, 2, 2), (4, 5, 3), (5, 8, 4)],
            "n": [(0, 2, 10), (3, 6, 20)],
        },
    ),
    Example(
        "section 5.2",
        """unit d
        input stock : f64
        ~filter[t] = {
            s10 = ⊕(+, ~stock[t-10:t])
            s20 = ⊕(+, ~stock[t-20:t])
            a10 = s10/10
            a20 = s20/20
            j = (a10 != φ && a20 != φ) ? (a10-a20) : φ
            return (j > 0) ? j : φ }
        output ~filter""",
        # Ten days at 0, four at 20, then 0 again: the short average is ahead from the
        # first high day until it has forgotten two of them.
        [(day - 1, day, float(day - 10)) for day in range(11, 15)]
        + [(day - 1, day, 4.0) for day in range(15, 21)]
        + [(20, 21, 2.0)],
        {
            "stock": [
                (day - 1, day, 20.0 if 11 <= day <= 14 else 0.0) for day in range(1, 25)
            ]
        },
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_worked_example(example: Example) -> None:
    check_over(
        example.inputs,
        example.text,
        example.expected,
        start=example.start,
        end=example.end,
    )


# Snapshots


def test_equal_neighbours_stay_two() -> None:
    rows: Rows = [(0, 2, 5), (2, 4, 5)]
    check("input x : i64\n~o[t] = ~x[t]", rows, x=rows)
    text = "input x : i64\n~y[t] = ~x[t]\n~o[t] = count(~y[t-4:t])"
    check(text, [(0, 2, 1), (2, 4, 2)], x=rows)


def test_nan_neighbours_stay_two_and_one_nan_stays_one() -> None:
    text = "input x : f64\n~o[t] = is_nan(~x[t])"
    check(text, [(0, 3, True), (3, 4, True)], x=[(0, 3, NAN), (3, 4, NAN)])


def test_untaken_branches_cut_too() -> None:
    text = "input x : i64\ninput y : i64\n~o[t] = ~x[t] > 0 ? 1 : ~y[t]"
    check(text, [(0, 2, 1), (2, 4, 1)], x=[(0, 4, 9)], y=[(0, 2, 7), (2, 4, 7)])


def test_unused_names_do_not_cut() -> None:
    text = """input x : i64
    input y : i64
    ~o[t] = { unused = ~y[t]
              return ~x[t] }"""
    check(text, [(0, 4, 9)], x=[(0, 4, 9)], y=[(-3, 2, 7), (2, 9, 7)])


def test_time_as_a_number_cuts_every_cell() -> None:
    text = "input x : i64\n~o[t] = ~x[t] > 0 ? t : φ"
    check(text, [(0, 1, 1), (1, 2, 2), (2, 3, 3)], x=[(0, 3, 9)])
    coarse = "input x : i64\nt = TDom(-∞, ∞, 2)\n~o[t] = ~x[t] * 0 + t"
    check(coarse, [(0, 2, 2), (2, 4, 4)], x=[(0, 4, 9)])


def test_a_gap_between_two_grid_points_is_seen() -> None:
    # At 4 and at 8 the same value, but of two events.
    text = "input x : i64\nt = TDom(-∞, ∞, 4)\n~o[t] = ~x[t]"
    check(text, [(3, 4, 7), (4, 8, 7)], x=[(3, 4, 7), (7, 8, 7)])
    check(text, [(3, 8, 7)], x=[(3, 8, 7)])


def test_windows_are_the_same_by_what_contributes() -> None:
    text = "input x : i64\n~o[t] = sum(v for v in ~x[t-2:t] if v > 0)"
    rows: Rows = [(0, 1, 5), (1, 2, -1), (2, 3, -1), (3, 4, 5)]
    check(text, [(0, 2, 5), (3, 4, 5)], x=rows)


def test_a_snapshot_of_several_cells_counts_once() -> None:
    text = "input x : i64\n~y[t] = ~x[t] + 1\n~o[t] = sum(~y[t-5:t])"
    check(text, [(0, 4, 4), (4, 6, 14)], x=[(0, 4, 3), (4, 6, 9)])


def test_windows_ahead_and_off_the_grid() -> None:
    text = "input x : i64\n~o[t] = sum(~x[t+1 : t+3])"
    check(text, [(0, 1, 5), (1, 3, 3)], x=[(0, 3, 2), (3, 5, 3)])
    coarse = "input x : i64\nt = TDom(-∞, ∞, 4)\n~o[t] = ~x[t-3]"
    check(coarse, [(0, 4, 1), (4, 8, 2)], x=[(0, 1, 1), (4, 5, 2)])


def test_ahead_of_the_first_event_nothing_is_output() -> None:
    text = "input x : i64\n~o[t] = ~x[t+2]"
    check(text, [(5, 6, 1)], x=[(5, 8, 1)])
    check(text, [(3, 6, 1)], x=[(5, 8, 1)], start=-9)


# Grids and domains


def test_offset_grids() -> None:
    text = "input x : i64\nt = TDom(-∞, ∞, 5, offset=2)\n~o[t] = sum(~x[t-5:t])"
    check(text, [(0, 2, 1), (2, 7, 3), (7, 12, 2)], x=[(0, 3, 1), (3, 8, 2)])


def test_negative_times() -> None:
    text = "input x : i64\nt = TDom(-∞, ∞, 4, offset=1)\n~o[t] = ~x[t]"
    rows: Rows = [(-8, -5, 1), (-5, -2, 2)]
    check(text, [(-8, -7, 1), (-7, -3, 2)], x=rows)
    check("input x : i64\n~o[t] = ~x[t-1]", [(-7, -4, 1), (-4, -2, 2)], x=rows)


def test_only_the_end_is_rounded_up_to_the_grid() -> None:
    text = "input x : i64\nt = TDom(-∞, ∞, 10)\n~o[t] = count(~x[t-10:t])"
    check(text, [(3, 20, 1)], x=[(3, 12, 7)])
    check(text, [(3, 14, 1)], x=[(3, 12, 7)], end=14)
    check(text, [(3, 20, 1), (20, 25, 0)], x=[(3, 12, 7)], end=25)
    check(text, [(0, 20, 1)], x=[(3, 12, 7)], start=0)


def test_a_given_domain_only_cuts() -> None:
    text = "input x : i64\nt = TDom(-∞, ∞, 4)\n~o[t] = sum(~x[t-8:t])"
    rows: Rows = [(0, 3, 1), (3, 6, 2), (6, 20, 3)]
    whole = [(0, 4, 3), (4, 8, 6), (8, 12, 5), (12, 20, 3)]
    check(text, whole, x=rows)
    check(text, [(5, 8, 6), (8, 12, 5), (12, 14, 3)], x=rows, start=5, end=14)
    check(text, [], x=rows, start=-2, end=0)
    check(text, [], x=rows, start=5, end=5)


def test_finite_bounds_cut_an_output() -> None:
    text = "input x : i64\nt = TDom(2, 7, 2)\n~o[t] = ~x[t]"
    check(text, [(2, 4, 1), (4, 7, 2)], x=[(0, 5, 1), (5, 9, 2)])
    counted = "input x : i64\nt = TDom(-2, 3, 1)\n~o[t] = count(~x[t-1:t])"
    check(counted, [(-2, 1, 0), (1, 2, 1), (2, 3, 0)], x=[(1, 2, 7)])
    check(counted, [(-1, 1, 0), (1, 2, 1)], x=[(1, 2, 7)], start=-1, end=2)
    check(counted, [(-2, 3, 0)], x=[])


def test_finite_bounds_cut_an_intermediate_object() -> None:
    text = """input x : i64
    d = TDom(2, 5, 2)
    ~y[d] = ~x[d]
    ~o[t] = ~y[t] != φ ? ~y[t] : 0 - 1
    ~n[t] = count(~y[t-20:t])"""
    expected = {
        "o": [(0, 2, -1), (2, 5, 7), (5, 8, -1)],
        "n": [(0, 2, 0), (2, 8, 1)],
    }
    check(text, expected, x=[(0, 8, 7)])


def test_bounds_given_at_run_time() -> None:
    text = "input x : i64\nt = TDom(a, b, 1)\n~o[t] = ~x[t]"
    check(text, [(2, 5, 7)], x=[(0, 9, 7)], bounds={"a": 2, "b": 5})
    with pytest.raises(DataError, match="'b'"):
        check(text, [], x=[(0, 9, 7)], bounds={"a": 2})


def test_without_rows_an_infinite_domain_is_empty() -> None:
    check("input x : i64\n~o[t] = count(~x[t-2:t])", [], x=[])
    check("input x : i64\n~o[t] = count(~x[t-2:t])", [], x=[], start=0)
    check("input x : i64\n~o[t] = count(~x[t-2:t])", [(0, 4, 0)], x=[], start=0, end=4)


def test_a_domain_that_ends_before_it_starts_is_an_error() -> None:
    with pytest.raises(DataError, match="starts at 3"):
        check("input x : i64\n~o[t] = ~x[t]", [], x=[(0, 9, 1)], start=3, end=2)


def test_a_domain_spans_the_inputs_that_are_referred_to() -> None:
    text = """input x : i64
    input y : i64
    ~a[t] = ~x[t]
    ~o[t] = count(~a[t-1:t])"""
    check(text, [(2, 4, 1)], x=[(2, 4, 1)], y=[(0, 9, 1)])


# Overlapping events


def test_points_see_the_event_that_started_last_and_windows_all() -> None:
    text = """input x : i64
    ~top[t] = ~x[t]
    ~every[t] = sum(~x[t-20:t])
    ~tops[t] = sum(~top[t-20:t])
    output ~top, ~every, ~tops"""
    expected = {
        "top": [(0, 2, 1), (2, 4, 5), (4, 8, 1)],
        "every": [(0, 2, 1), (2, 8, 6)],
        "tops": [(0, 2, 1), (2, 4, 6), (4, 8, 7)],
    }
    check(text, expected, x=[(0, 8, 1), (2, 4, 5)])


def test_equal_starts_are_in_tie_order() -> None:
    rows: Rows = [(0, 4, 1), (0, 2, 2), (0, 3, 3)]
    check("input x : i64\n~o[t] = ~x[t]", [(0, 3, 3), (3, 4, 1)], x=rows)
    text = "input x : i64\n~o[t] = 10 * first(~x[t-1:t]) + last(~x[t-1:t])"
    check(text, [(0, 2, 13), (2, 3, 13), (3, 4, 11)], x=rows)


def test_an_event_that_emerges_again_is_a_new_snapshot_at_any_precision() -> None:
    text = "input x : i64\nt = TDom(-∞, ∞, 4)\n~o[t] = ~x[t]"
    check(text, [(0, 4, 1), (4, 8, 1)], x=[(0, 8, 1), (5, 6, 5)])


def test_the_bounds_of_events() -> None:
    text = "input x : i64\n~o[t] = end(~x[t]) - start(~x[t])"
    check(text, [(0, 2, 8), (2, 4, 2), (4, 8, 8)], x=[(0, 8, 1), (2, 4, 5)])


# Structs


PAIR = "{ a: f64, b: i64 }"


def test_fields_may_be_phi_in_a_snapshot_that_exists() -> None:
    text = f"""input x : {PAIR}
    ~field[t] = ~x[t].a != φ
    ~exists[t] = exists(~x[t])
    ~total[t] = sum(~x[t-9:t].b)
    ~rows[t] = count(~x[t-9:t])"""
    rows: Rows = [(0, 1, {"a": None, "b": 3}), (2, 3, {"a": 1.5, "b": None})]
    expected: Mapping[str, Rows] = {
        "field": [(0, 1, False), (1, 2, False), (2, 3, True)],
        "exists": [(0, 1, True), (1, 2, False), (2, 3, True)],
        "total": [(0, 3, 3)],
        "rows": [(0, 2, 1), (2, 3, 2)],
    }
    check(text, expected, x=rows)


def test_a_struct_literal_is_never_phi_itself() -> None:
    text = f"""input x : {PAIR}
    ~o[t] = {{ a = ~x[t].a, c = ~x[t].b > 0 ? 1 : φ }}
    ~p[t] = exists(~x[t]) ? {{ a = ~x[t].a }} : φ"""
    rows: Rows = [(0, 1, {"a": 2.5, "b": -1}), (2, 3, {"a": None, "b": 1})]
    expected: Mapping[str, Rows] = {
        "o": [
            (0, 1, {"a": 2.5, "c": None}),
            (1, 2, {"a": None, "c": None}),
            (2, 3, {"a": None, "c": 1}),
        ],
        "p": [(0, 1, {"a": 2.5}), (2, 3, {"a": None})],
    }
    check(text, expected, x=rows)


# φ and numbers


def test_three_valued_logic() -> None:
    pairs = [(a, b) for a in (True, False, None) for b in (True, False, None)]
    rows = [{"a": a, "b": b} for a, b in pairs]
    declared = "{ a: bool, b: bool }"
    both = values(declared, "~x[t].a && ~x[t].b", rows)
    assert both == [True, False, None, False, False, False, None, False, None]
    either = values(declared, "~x[t].a || ~x[t].b", rows)
    assert either == [True, True, True, True, False, None, True, None, None]
    chosen = values(declared, "~x[t].a ? 1 : 2", rows)
    assert chosen == [1, 1, 1, 2, 2, 2, None, None, None]
    assert values(declared, "!~x[t].a", rows[::3]) == [False, True, None]
    assert values(declared, "~x[t].a == φ", rows[::3]) == [False, False, True]
    assert values(declared, "~x[t].a == ~x[t].b", rows)[:3] == [True, False, None]


def test_integer_division_follows_python_and_is_phi_by_zero() -> None:
    pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (7, 0), (0, 0), (LEAST, -1)]
    rows = [{"a": a, "b": b} for a, b in pairs]
    declared = "{ a: i64, b: i64 }"
    whole = values(declared, "~x[t].a // ~x[t].b", rows)
    assert whole == [3, -4, -4, 3, None, None, LEAST]
    rest = values(declared, "~x[t].a % ~x[t].b", rows)
    assert rest == [1, 1, -1, -1, None, None, 0]
    ratio = values(declared, "~x[t].a / ~x[t].b", rows)
    assert_numbers(ratio, [3.5, -3.5, -3.5, 3.5, INF, NAN, 2.0**63])


def test_float_division_by_zero_is_ieee() -> None:
    pairs = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)]
    rows = [{"a": a, "b": b} for a, b in pairs]
    declared = "{ a: f64, b: f64 }"
    whole = values(declared, "~x[t].a // ~x[t].b", rows)
    assert_numbers(whole, [3.0, -4.0, -4.0, INF, -INF, NAN])
    rest = values(declared, "~x[t].a % ~x[t].b", rows)
    assert_numbers(rest, [1.5, 0.5, -0.5, NAN, NAN, NAN])


@pytest.mark.parametrize(
    ("scalar", "expression", "rows", "expected"),
    [
        ("i8", "~x[t] + 1", [127, -128], [-128, -127]),
        ("i8", "-~x[t]", [-128, 5], [-128, -5]),
        ("u8", "~x[t] - 1", [0, 9], [255, 8]),
        ("u64", "~x[t] * 3", [2**63], [2**63]),
        ("i64", "abs(~x[t])", [LEAST, -4], [LEAST, 4]),
        ("i64", "i8(~x[t])", [300, -300, 5], [127, -128, 5]),
        ("i64", "u8(~x[t])", [-3, 300], [0, 255]),
        ("f64", "i64(~x[t])", [NAN, INF, 1e300, -2.9], [0, MOST, MOST, -2]),
        ("f64", "i64(~x[t])", [-INF, -1e19], [LEAST, LEAST]),
        ("f64", "u8(~x[t])", [-0.5, -7.0, 255.9, 256.0], [0, 0, 255, 255]),
        ("f64", "bool(~x[t])", [NAN, 0.0, -0.0, 0.5], [True, False, False, True]),
        ("f64", "f32(~x[t])", [0.1, 1e300], [0.10000000149011612, INF]),
        ("i64", "f32(~x[t])", [2**62 + 2**38 + 1], [float(2**62 + 2**39)]),
        ("i64", "f64(~x[t])", [2**53 + 1], [float(2**53)]),
        ("f32", "~x[t] + 1", [0.10000000149011612], [1.100000023841858]),
        ("f64", "~x[t] == ~x[t]", [NAN, 1.0], [False, True]),
        ("f64", "min(~x[t], 0.0)", [-0.0, 1.0, NAN, -INF], [-0.0, 0.0, NAN, -INF]),
        ("f64", "max(~x[t], 0.0)", [-0.0, 1.0, NAN, -INF], [0.0, 1.0, NAN, 0.0]),
        ("f64", "round(~x[t])", [0.5, 1.5, -0.5, INF], [0.0, 2.0, -0.0, INF]),
        ("f64", "floor(~x[t])", [-1.5, -0.0, NAN], [-2.0, -0.0, NAN]),
        ("f64", "sign(~x[t])", [-3.5, -0.0, NAN], [-1.0, -0.0, NAN]),
        ("f64", "sqrt(~x[t])", [4.0, -1.0], [2.0, NAN]),
        ("f64", "log(~x[t])", [0.0, -1.0, INF], [-INF, NAN, INF]),
    ],
)
def test_numbers(
    scalar: str, expression: str, rows: list[Value], expected: list[Number]
) -> None:
    assert_numbers(values(scalar, expression, rows), expected)


# Reductions


@pytest.mark.parametrize(
    ("scalar", "reduction", "rows", "expected"),
    [
        ("i64", "sum", [1, 2, 3], 6),
        ("i64", "sum", [MOST, 1], LEAST),
        ("i8", "sum", [127, 127], 254),
        ("u8", "sum", [255, 255], 510),
        ("bool", "sum", [True, True, False], 2),
        ("bool", "mean", [True, False], 0.5),
        ("i32", "product", [-3, 5], -15),
        ("i64", "mean", [1, 2], 1.5),
        ("f64", "sum", [0.125, -0.5, 7.0], 6.625),
        ("f64", "sum", [-0.0, -0.0], 0.0),
        ("f64", "sum", [INF, -INF], NAN),
        ("f64", "mean", [INF, 1.0], INF),
        ("f64", "min", [3.0, NAN, 1.0], NAN),
        ("f64", "min", [0.0, -0.0], -0.0),
        ("f64", "max", [-0.0, 0.0], 0.0),
        ("i8", "max", [-3, -5], -3),
        ("f64", "first", [3.0, 1.0], 3.0),
        ("f64", "last", [3.0, NAN], NAN),
        ("bool", "any", [False, True], True),
        ("bool", "all", [False, True], False),
        ("f64", "var", [1.0, 2.0, 3.0, 6.0], 3.5),
        ("f64", "var", [0.1, 0.1, 0.1], 0.0),
        ("f64", "var", [NAN, 1.0], NAN),
        ("i64", "std", [1, 3], 1.0),
        ("f64", "rms", [3.0, -3.0], 3.0),
        ("f64", "skew", [1.0, 1.0], NAN),
        ("f64", "skew", [0.0, 0.0, 3.0], 2.0 / 2.0**1.5),
        ("f64", "kurtosis", [1.0, -1.0, 1.0, -1.0], -2.0),
        ("f64", "kurtosis", [7.0], NAN),
    ],
)
def test_reductions(
    scalar: str, reduction: str, rows: list[Value], expected: Number
) -> None:
    found = reduced(scalar, f"{reduction}(~x[t-50:t])", rows)
    assert_numbers([found], [expected])


def test_the_variance_of_a_sample() -> None:
    assert reduced("f64", "var(~x[t-50:t], ddof=1)", [1.0, 2.0, 3.0]) == 1.0
    assert reduced("f64", "std(~x[t-50:t], ddof=1)", [1.0]) is None
    assert reduced("f64", "var(~x[t-50:t])", [1.0]) == 0.0


def test_reductions_over_nothing_are_phi_but_count() -> None:
    text = """input x : i64
    ~a[t] = sum(v for v in ~x[t-3:t] if v > 9)
    ~b[t] = count(v for v in ~x[t-3:t] if v > 9)"""
    check(text, {"a": [], "b": [(0, 2, 0)]}, x=[(0, 2, 5)])
