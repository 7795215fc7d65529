"""Reductions of one's own: what they mean, and that every way to slide means the same.

The meaning is written by hand here; that the compiler agrees is asserted beside it, and
over random reductions in `test_properties`.
"""

from random import Random

import pytest

from tests.compare import assert_same
from tests.compiled import Setting, run_compiled
from tests.random.queries import Case
from tests.run_everywhere import run_everywhere
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.query_kernels import Compiler
from tiltpy.errors import QueryErrors
from tiltpy.explain.stages import explain
from tiltpy.frontend.parse import parse
from tiltpy.frontend.text.format import format_source
from tiltpy.interpreter.evaluate import Event, Snapshot, interpret
from tiltpy.ir.nodes import CutWindow, Query
from tiltpy.ir.print.query import format_query
from tiltpy.ir.verify.invariants import verify_source
from tiltpy.passes.pipeline import optimize
from tiltpy.types import F64, Type

RMS = """
reduction my_rms(v: f64) {
    init   = { s = 0.0, n = 0 }
    acc    = { s = state.s + v*v, n = state.n + 1 }
    deacc  = { s = state.s - v*v, n = state.n - 1 }
    merge  = { s = a.s + b.s, n = a.n + b.n }
    result = sqrt(state.s / state.n)
}
"""
TOTAL = """
reduction total(v: i64) {
    init = 0
    acc = state + v
    deacc = state - v
    result = state
}
"""
LONGEST = """
reduction longest(v: i64) {      # the longest rise in a row
    init = { best = 0, run = 0, last = i64(φ) }
    acc = {
        run = state.last != φ && v > state.last ? state.run + 1 : 1
        return { best = max(state.best, run), run = run, last = v }
    }
    result = state.best
}
"""
EDGES = """
reduction edges(v: i64) {        # merges in order only
    init = { first = i64(φ), last = i64(φ) }
    acc = { first = state.first == φ ? v : state.first, last = v }
    merge = { first = a.first, last = b.last }
    result = { rise = state.last - state.first, last = state.last }
}
"""
TWAP = """
reduction twap(v: f64, start, end) {
    init = { area = 0.0, ticks = 0 }
    acc = {
        ticks = end - start
        return { area = state.area + v * ticks, ticks = state.ticks + ticks }
    }
    result = state.area / state.ticks
}
"""
DELAYED = """
reduction delayed(v: i64) {      # fields that become one another
    init = { now = 0, last = 0, older = 0, turn = true }
    acc = {
        swap = v % 3 == 0
        now = swap ? state.older : v
        older = swap ? state.now : state.last
        return { now = now, last = state.now, older = older, turn = !state.turn }
    }
    result = state
}
"""
MERGED = TWAP.replace("twap", "time_mean").replace(
    "    result",
    "    merge = { area = a.area + b.area, ticks = a.ticks + b.ticks }\n    result",
)
ALL = RMS + TOTAL + LONGEST + EDGES + TWAP + DELAYED + MERGED
M = [Event(0, 1, 10), Event(1, 2, 20), Event(4, 5, 30), Event(5, 8, 40)]
SETTINGS = (
    Setting(),
    Setting(chunk=1, optimize=False),
    Setting(chunk=3, workers=2, special_shapes=False, optimize=False),
    Setting(chunk=16, vector=True, small=True, optimize=False),
    Setting(vector=True, nulls="gaps", optimize=False),
    Setting(
        disabled_passes=frozenset({"fuse_operators", "fold_constants"}), optimize=False
    ),
)


def events_of(query: Query, rows: list[Event]) -> dict[str, list[Event]]:
    """The rows for each input, in its type."""
    return {one.name: [_typed(row, one.type) for row in rows] for one in query.inputs}


def _typed(row: Event, kind: Type) -> Event:
    assert isinstance(row.value, int)
    return row._replace(value=float(row.value)) if kind == F64 else row


def found_in(text: str, rows: list[Event] = M, end: int = 8) -> list[Snapshot]:
    """Return what a query gives over (0, end], the same by every way to run it."""
    query = parse("input m : i64 interval input x : f64 interval " + ALL + text)
    verify_source(query)
    assert parse(format_query(query)) == query
    events = events_of(query, rows)
    meant = interpret(query, events, start=0, end=end)
    for setting in SETTINGS:
        found = run_compiled(Case(query, events, 0, end), setting)
        assert_same(found, meant, query, exact=True)
    (name,) = query.outputs
    return meant[name]


def test_the_reduction_of_the_design_is_a_root_mean_square() -> None:
    found = found_in("~o[t] = my_rms(~x[t-2:t])")
    assert [(s, e, round(float(str(v)) ** 2, 6)) for s, e, v in found] == [
        (0, 1, 100.0),
        (1, 2, 250.0),
        (2, 3, 400.0),
        (4, 5, 900.0),
        (5, 6, 1250.0),
        (6, 8, 1600.0),
    ]


def test_what_is_taken_out_leaves_what_a_sum_has() -> None:
    assert found_in("~o[t] = total(~m[t-2:t])") == [
        (0, 1, 10),
        (1, 2, 30),
        (2, 3, 20),
        (4, 5, 30),
        (5, 6, 70),
        (6, 8, 40),
    ]


def test_the_form_of_the_paper_and_conditions() -> None:
    assert found_in("~o[t] = ⊕(total, v for v in ~m[t-4:t] if v != 20)") == [
        (0, 4, 10),
        (4, 5, 30),
        (5, 8, 70),
    ]
    assert found_in("s = TDom(-∞, ∞, 4) ~o[s] = total(v + 1 for v in ~m[s-4:s])") == [
        (0, 4, 32),
        (4, 8, 72),
    ]


def test_without_merge_the_order_may_matter() -> None:
    assert found_in("s = TDom(-∞, ∞, 8) ~o[s] = longest(~m[s-8:s])") == [(0, 8, 4)]
    down = [Event(i, i + 1, v) for i, v in enumerate((1, 2, 3, 2, 3, 1))]
    assert [
        snapshot.value for snapshot in found_in("~o[t] = longest(~m[t-3:t])", down, 6)
    ] == [1, 2, 3, 2, 2, 2]


def test_fields_may_become_one_another() -> None:
    rows = [Event(i, i + 1, i) for i in range(1, 7)]
    found = found_in("s = TDom(-∞, ∞, 8) ~o[s] = delayed(~m[s-8:s])", rows)
    # 1, 2; then the oldest, 0, comes back and the newest goes there; 4, 5; again.
    last = {"now": 0, "last": 5, "older": 5, "turn": True}
    assert found == [(0, 8, last)]
    every = [row.value for row in found_in("~o[t] = delayed(~m[t-8:t])", rows, 7)]
    assert [value["now"] for value in every if isinstance(value, dict)] == [
        1, 2, 0, 4, 5, 0,
    ]  # fmt: skip


def test_merges_are_made_in_order() -> None:
    found = found_in("s = TDom(-∞, ∞, 8) ~o[s] = edges(~m[s-8:s])")
    assert found == [(0, 8, {"rise": 30, "last": 40})]
    long = [Event(i, i + 1, i * i % 97) for i in range(400)]
    for size, step in ((64, 64), (96, 32), (33, 33), (150, 1)):
        text = f"s = TDom(-∞, ∞, {step}) ~o[s] = edges(~m[s-{size}:s])"
        rows = found_in(text, long, 400)
        whole = [row for row in rows if row.end % step == 0]
        assert len(whole) >= 400 // step
        for _, end, value in whole:
            newest, oldest = end - 1, max(0, end - size)
            rise = newest**2 % 97 - oldest**2 % 97
            assert value == {"rise": rise, "last": newest**2 % 97}


def test_bounds_are_cut_to_the_window() -> None:
    # At 2: 10 and 20 for a tick each. At 4: of 20 nothing is left. At 6: 30 for one.
    found = found_in("~o[t] = twap(~x[t-2:t])")
    assert found == [
        (0, 1, 10.0),
        (1, 2, 15.0),
        (2, 3, 20.0),
        (4, 5, 30.0),
        (5, 6, 35.0),
        (6, 7, 40.0),
        (7, 8, 40.0),
    ]


def test_a_cut_bound_that_moves_is_another_snapshot() -> None:
    # One event all along: where the window holds the whole of it, nothing moves.
    found = found_in("~o[t] = twap(~x[t-3:t])", [Event(2, 4, 5)], 8)
    assert found == [(2, 3, 5.0), (3, 5, 5.0), (5, 6, 5.0)]
    still = found_in("~o[t] = twap(~x[t-6:t])", [Event(2, 4, 5)], 8)
    assert still == [(2, 3, 5.0), (3, 8, 5.0)]
    plain = found_in("~o[t] = my_rms(~x[t-3:t])", [Event(2, 4, 5)], 8)
    assert plain == [(2, 6, 5.0)]


def test_a_fold_over_elements_that_never_count_needs_no_loop() -> None:
    # `v == φ` holds of no element, so no bound that moves is ever seen.
    text = TWAP + "~o[t] = twap(v for v in ~x[t-13 : t] if v == φ)"
    query = parse("input x : f64\n" + text)
    events = {"x": [Event(0, 3, 1.0), Event(2, 9, 4.0)]}
    case = Case(query, events, 0, 20, {})
    setting = Setting(layout=TimeLayout.OVERLAPPING, optimize=False)
    assert run_compiled(case, setting) == {"o": []}


def test_what_edges_cut_is_merged_with_what_lies_between() -> None:
    random = Random(4)  # noqa: S311
    rows, now = [], 0
    for _ in range(40):
        now += random.choice((0, 0, 1, 9))
        length = random.choice((1, 1, 2, 5, 30))
        rows.append(Event(now, now + length, random.randint(-9, 9)))
        now += length
    for use in ("twap(~x[t-4:t])", "twap(v for v in ~x[t-17:t] if v > 0)"):
        anew = found_in(f"~o[t] = {use}", rows, now)
        merged = found_in(f"~o[t] = {use.replace('twap', 'time_mean')}", rows, now)
        assert merged == anew


def test_bounds_of_a_derived_object_are_those_of_its_snapshots() -> None:
    text = "~late[t] = ~x[t-2] + 1 ~o[t] = twap(~late[t-4:t])"
    found = found_in(text, [Event(0, 2, 10), Event(2, 3, 40)], 8)
    # ~late: 11 over (2, 4], 41 over (4, 5].
    assert found == [
        (2, 3, 11.0),
        (3, 4, 11.0),
        (4, 6, 21.0),
        (6, 7, 26.0),
        (7, 8, 41.0),
    ]


def test_a_field_that_is_phi_stays_phi_until_a_part_says_otherwise() -> None:
    text = """
    reduction shares(v: i64) {
        init = 0
        acc = state + 60 // v
        merge = a + b
        result = state
    }
    ~o[t] = shares(~m[t-2:t])
    """
    rows = [Event(0, 1, 2), Event(1, 2, 0), Event(2, 3, 3), Event(3, 4, 6)]
    assert found_in(text, rows, 6) == [(0, 1, 30), (3, 4, 30), (4, 5, 10)]


def test_a_result_may_be_phi() -> None:
    text = """
    reduction pairs(v: i64) {
        init = 0
        acc = state + 1
        merge = a + b
        result = state > 1 ? state : φ
    }
    ~o[t] = pairs(~m[t-2:t])
    """
    assert found_in(text) == [(1, 2, 2), (5, 6, 2)]


def test_init_need_not_be_neutral_to_merge() -> None:
    text = """
    reduction average(v: f64) {
        init = { n = 0.0, mean = 0.0 }
        acc = { n = state.n + 1, mean = state.mean + (v - state.mean) / (state.n + 1) }
        merge = { n = a.n + b.n, mean = (a.n * a.mean + b.n * b.mean) / (a.n + b.n) }
        result = state.mean
    }
    ~o[t] = average(v for v in ~x[t-2:t] if v != 20)
    """
    assert found_in(text) == [
        (0, 2, 10.0),
        (4, 5, 30.0),
        (5, 6, 35.0),
        (6, 8, 40.0),
    ]


def test_events_that_overlap_leave_in_any_order() -> None:
    rows = [Event(0, 9, 1), Event(1, 2, 20), Event(2, 3, 300)]
    found = found_in("~o[t] = total(~m[t-1:t])", rows, 9)
    assert found == [(0, 1, 1), (1, 2, 21), (2, 3, 301), (3, 9, 1)]
    weighed = found_in("~o[t] = twap(~x[t-2:t])", rows, 4)
    assert weighed == [
        (0, 1, 1.0),
        (1, 2, (2 + 20) / 3),
        (2, 3, (2 + 20 + 300) / 4),
        (3, 4, (2 + 300) / 3),
    ]


def test_struct_elements_widen_and_keep_what_is_needed() -> None:
    query = parse("""
    input q : { size: i32, venue: i64, price: f64 } interval
    reduction vwap(v: { price: f64, size: i64 }) {
        init = { pv = 0.0, s = 0 }
        acc = v.price != φ && v.size != φ
            ? { pv = state.pv + v.price * v.size, s = state.s + v.size }
            : state
        merge = { pv = a.pv + b.pv, s = a.s + b.s }
        result = state.s != 0 ? state.pv / state.s : φ
    }
    ~o[t] = vwap(~q[t-3:t])
    ~of[t] = vwap({ price = p, size = 1 }
                  for {price: p, venue: w} in ~q[t-3:t] if w > 1)
    output ~o, ~of
    """)
    rows = [
        Event(0, 1, {"size": 2, "venue": 1, "price": 10.0}),
        Event(1, 2, {"size": 6, "venue": 2, "price": 30.0}),
        Event(2, 3, {"size": None, "venue": 2, "price": 50.0}),
    ]
    assert parse(format_query(query)) == query
    meant = interpret(query, {"q": rows}, start=0, end=5)
    assert meant["o"] == [(0, 1, 10.0), (1, 2, 25.0), (2, 3, 25.0), (3, 4, 30.0)]
    assert meant["of"] == [(1, 2, 30.0), (2, 4, 40.0), (4, 5, 50.0)]
    for setting in SETTINGS:
        found = run_compiled(Case(query, {"q": rows}, 0, 5), setting)
        assert_same(found, meant, query, exact=True)


def test_constants_are_seen_inside() -> None:
    text = """
    param floor : i64 = 15
    reduction above(v: i64) {
        init = 0
        acc = v > floor ? state + 1 : state
        merge = a + b
        result = state
    }
    ~o[t] = above(~m[t-2:t])
    """
    assert [snapshot.value for snapshot in found_in(text)] == [0, 1, 1, 1, 2, 1]


def test_who_sees_bounds_is_not_seen_through() -> None:
    query = parse(
        f"input x : f64 interval {TWAP} ~a[t] = ~x[t-3] * 2 ~o[t] = twap(~a[t-9:t])"
    )
    for _, stage in optimize(query):
        assert stage.definition("a") is not None or stage.outputs == ("a",)
    (cut,) = query.definitions[1].cuts
    assert isinstance(cut, CutWindow)
    assert cut.bounds


def test_constants_fold_inside_and_unused_reductions_go() -> None:
    query = parse(
        "input x : f64 interval reduction r(v: f64) "
        "{ init = 0.0 acc = state + v * (2.0 * 3) result = state } "
        f"{RMS} ~o[t] = r(~x[t-2:t])"
    )
    _, last = optimize(query)[-1]
    assert [one.name for one in last.reductions] == ["r"]
    assert "acc = state + v * 6.0" in format_query(last)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("my_rms(~x[t-9:t])", "my_rms of ~x slides by `merge`"),
        ("total(~m[t-9:t])", "total of ~m slides by `deacc`"),
        ("longest(~m[t-9:t])", "longest of ~m folds its window anew at each visit"),
        ("twap(~x[t-9:t])", "twap of ~x folds its window anew at each visit"),
        (
            "time_mean(~x[t-9:t])",
            "time_mean of ~x slides by `merge`, and merges what the window's edges cut",
        ),
    ],
)
def test_explain_says_how_each_slides(use: str, said: str) -> None:
    query = parse(f"input m : i64 interval input x : f64 interval {ALL} ~o[t] = {use}")
    layout = Layout(TimeLayout.CONTIGUOUS, (False,))
    compiled = Compiler(query).compile_for({"m": layout, "x": layout})
    assert f"~o: {said}" in explain(query, compiled)


def test_names_that_are_built_in_are_kept() -> None:
    with pytest.raises(QueryErrors, match="`mean` is built in"):
        parse(
            "input x : f64 reduction mean(v: f64) { init = 0.0 acc = v result = state }"
        )


def test_a_part_that_calls_a_broken_function_adds_no_error() -> None:
    text = "input x : f64\ndef f(v) = g(v)\ndef g(v) = f(v)\n"
    text += "reduction r(v: f64) { init = 0.0; acc = f(state + v); result = state }\n"
    with pytest.raises(QueryErrors) as caught:
        parse(text + "~out[t] = r(~x[t-3 : t])")
    assert [error.code for error in caught.value.errors] == ["E0105", "E0105"]


def test_they_are_formatted_like_all_else() -> None:
    text = """input x:f64 point
reduction r( v :f64,start , end ){ # the one
init={s=0.0,n=0};acc={ w=v*v
return {s=state.s+w,n=state.n+1}}
   merge={s=a.s+b.s,
n=a.n+b.n}

result=sqrt(state.s/state.n) }
~o[t]=r(~x[t-5:t])"""
    formatted = format_source(text)
    assert (
        formatted
        == """input x : f64 point
reduction r(v: f64, start, end) {  # the one
    init = { s = 0.0, n = 0 }; acc = { w = v * v
        return { s = state.s + w, n = state.n + 1 } }
    merge = { s = a.s + b.s,
        n = a.n + b.n }

    result = sqrt(state.s / state.n) }
~o[t] = r(~x[t-5 : t])
"""
    )
    assert parse(formatted) == parse(text)
    printed = format_query(parse(text))
    assert format_source(printed) == printed


def test_an_object_and_a_reduction_may_share_a_name() -> None:
    found = found_in("~total[t] = total(~m[t-2:t])")
    assert found[0] == (0, 1, 10)


def test_structs_of_maps_are_folded_whole() -> None:
    """A count needs less of a struct than a fold, where a pass sees through a map."""
    query = parse(
        """input m : { a: f64, b: i64 }
reduction r(v: { a: f64, b: i64 }) {
    init = 0
    acc = state + v.b
    merge = a + b
    result = state
}
~d[t] = ~m[t].b > 1 ? ~m[t] : φ
~o[t] = r(~d[t-5 : t]) + count(~d[t-5 : t])
~e[t] = ~m[t] != φ ? { a = 2 * ~m[t].a, b = 3 * ~m[t].b } : φ
~p[t] = r(~e[t-5 : t])
output ~o, ~p
"""
    )
    rows = [Event(n, n + 1, {"a": n / 2, "b": n}) for n in (0, 1, 2, 4, 7)]
    found = run_everywhere(query, {"m": rows}, start=0, end=8)
    assert found["o"][-1] == Snapshot(7, 8, 4 + 7 + 2)
    assert found["p"][-1] == Snapshot(7, 8, 3 * (4 + 7))


@pytest.mark.parametrize("merge", ["merge = a + b", ""])
def test_a_snapshot_that_was_cut_before_rows_without_a_value(merge: str) -> None:
    """Of the rows that come after it none contributes: only its end has moved."""
    query = parse(
        f"""input x : f64
h = TDom(-∞, ∞, 5, 1)
reduction area(v: f64, start, end) {{
    init = 0.0
    acc = state + v * (end - start)
    {merge}
    result = state
}}
~o[h] = area(~x[h-17 : h])
"""
    )
    rows = [Event(0, 2, 1.0), Event(5, 7, 1.0), Event(17, 18, 1.0)]
    meant = interpret(query, {"x": rows}, start=0, end=20)
    assert [(s.end, s.value) for s in meant["o"]][:3] == [(1, 1.0), (6, 3.0), (16, 4.0)]
    case = Case(query, {"x": rows}, 0, 20)
    for nulls in ("gaps", "samples"):
        found = run_compiled(case, Setting(nulls=nulls))
        assert_same(found, meant, query, exact=True)
