"""Sweeps that visit only what matters: point events, joins of them, coarse grids.

Every case runs over events one tick long, which the runtime knows them to be, against
the interpreter; the cells in between are never visited, which must not be seen.
"""

from random import Random

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests.compare import assert_same
from tests.compiled import NO_STRATEGIES, Setting, snapshots
from tests.plain import check_engines, held
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.api import CompiledQuery
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.inputs import BoundFrame
from tiltpy.interpreter.evaluate import Event, Value, interpret
from tiltpy.loops.printer import format_kernel

INPUTS = "input x : f64\ninput y : f64\n"
CASES = {
    "rolling": "~o[t] = ~x[t] - mean(~x[t-30:t])",
    "kept where it exists": "~o[t] = ~x[t] != φ ? max(~x[t-9:t]) : φ",
    "looking ahead": "~o[t] = ~x[t+2] + sum(~x[t-4:t+40])",
    "window of the past": "~o[t] = ~x[t] != φ ? count(~x[t-50:t-20]) : φ",
    "filtered": "~o[t] = ~x[t] != φ ? sum(v for v in ~x[t-30:t] if v > 0) : φ",
    "first and last": "~o[t] = ~x[t] * first(~x[t-30:t]) - last(~x[t-30:t-3])",
    "several states": "~o[t] = ~x[t] != φ ? std(~x[t-40:t]) : φ",
    "another stream": "~o[t] = ~x[t] != φ ? mean(~y[t-30:t]) : φ",
    "lookup": "~o[t] = ~x[t] != φ ? ~y[t-1] : φ",
    "inner join": "~o[t] = ~x[t] + ~y[t] * sum(~x[t-10:t])",
    "one may be missing": "~o[t] = ~x[t] + (~y[t] != φ ? ~y[t] : sum(~y[t-20:t]))",
    "through another": "~w[t] = ~x[t] > 0 ? ~x[t] : φ\n~o[t] = ~w[t] - min(~w[t-25:t])",
    "a gap filled": (
        "~w[t] = ~x[t] > 0 ? ~x[t] : φ\n~o[t] = ~x[t] - (~w[t] != φ ? ~w[t] : 1.0)"
    ),
    "time": "~o[t] = ~x[t] + f64(t)",
    "coarse": "u = TDom(-∞, ∞, 5)\n~o[u] = ~x[u] + sum(~x[u-20:u])",
    "coarse and not on the grid": (
        "u = TDom(-∞, ∞, 7, 3)\n~o[u] = ~x[u-1] != φ ? mean(~y[u-30:u]) : φ"
    ),
    "coarse join": "u = TDom(-∞, ∞, 3)\n~o[u] = ~x[u] - ~y[u+1]",
    "cut": "u = TDom(20, 90, 1)\n~o[u] = ~x[u] - sum(~x[u-30:u])",
}
KINDS = ("points", "neighbours", "stamps that repeat", "none", "one")
Row = tuple[int, float | None]


def drawn(kind: str, random: Random) -> list[Row]:
    """Stamps and values, a tenth of them null."""
    gaps = {"points": (1, 2, 9, 60), "neighbours": (1, 1, 1, 4)}.get(kind, (0, 1, 7))
    rows: list[Row] = []
    stamp = random.randint(-20, 20)
    for _ in range({"none": 0, "one": 1}.get(kind, random.randint(2, 40))):
        stamp += random.choice(gaps)
        null = random.random() < 0.1
        rows.append((stamp, None if null else random.randint(-40, 40) / 8))
    return rows


def frame(rows: list[Row]) -> BoundFrame:
    table = pa.table(
        {
            "time": pa.array([stamp for stamp, _ in rows], pa.int64()),
            "value": pa.array([value for _, value in rows], pa.float64()),
        }
    )
    return tilt.bind(table, time="time", lifetime=tilt.point(), column="value")


def events(rows: list[Row]) -> list[Event]:
    return [Event(stamp - 1, stamp, v) for stamp, v in rows if v is not None]


@pytest.mark.covering(1)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_point_events(case: str, kind: str) -> None:
    text = INPUTS + CASES[case] + "\noutput ~o"
    query = parse(text)
    compiled = CompiledQuery(query, CompileOptions(disabled_strategies=NO_STRATEGIES))
    random = Random(f"{case} {kind}")  # noqa: S311
    for _ in range(4):
        x, y = drawn(kind, random), drawn(random.choice(KINDS), random)
        meant = interpret(query, {"x": events(x), "y": events(y)})
        for chunk in (None, 1, 13):
            result = compiled.run(x=frame(x), y=frame(y), chunk=chunk)
            found = {"o": snapshots(result["o"])}
            assert_same(found, meant, query, exact="std" not in text)


@pytest.mark.few(9)
@pytest.mark.parametrize("case", CASES)
def test_points_beside_longer_events(case: str) -> None:
    text = INPUTS + CASES[case] + "\noutput ~o"
    query = parse(text)
    compiled = CompiledQuery(query, CompileOptions(disabled_strategies=NO_STRATEGIES))
    random = Random(case)  # noqa: S311
    for _ in range(4):
        x = drawn("points", random)
        y = [(s, s + random.randint(1, 25), v) for s, v in drawn("neighbours", random)]
        longer = [Event(s, e, v) for s, e, v in y if v is not None]
        meant = interpret(query, {"x": events(x), "y": longer})
        for chunk in (None, 7):
            result = compiled.run(x=frame(x), y=held(y), chunk=chunk)
            found = {"o": snapshots(result["o"])}
            assert_same(found, meant, query, exact="std" not in text)


POINTS = Layout(TimeLayout.INTERVALS, (False,), points=True)
GAPS = Layout(TimeLayout.INTERVALS, (False,))


def kernel(text: str, layout: Layout) -> str:
    plan = QueryKernels(parse(text), {"x": layout}, CompileOptions()).sweep_code.lower()
    return format_kernel(plan.kernel)


def test_each_point_is_one_visit_and_gaps_between_rows_are_stepped_over() -> None:
    text = "input x : f64\n~o[t] = ~x[t] - mean(~x[t-1000:t])"
    assert "\n  now = now + 1\n" in kernel(text, POINTS)  # to wherever the next one is
    assert "\n  now = next\n" in kernel(text, GAPS)


def test_a_loop_that_steps_has_no_inner_loop_but_to_flip() -> None:
    text = "input x : f32\n~o[t] = mean(~x[t-20:t]) > mean(~x[t-50:t])"
    general = kernel(text, GAPS).split("while now <= o.last:")[1]
    visit, short = general.split("\n  now = next\n")
    for loop in (visit, short.split("while visits < ")[1]):
        assert loop.count("while ") == 2
        assert loop.count("if ") == 4


def test_rows_of_one_tick_need_room_for_a_snapshot_each() -> None:
    text = "input x : f64\n~o[t] = ~x[t] - mean(~x[t-1000:t])"
    plan = QueryKernels(parse(text), {"x": POINTS}, CompileOptions()).sweep_code.lower()
    (loop,) = plan.signature.loops
    assert loop.changes == (("x", 1),)


def test_an_order_beside_a_count_cuts_nothing() -> None:
    """Once LLVM mixed up two rounds of this loop."""
    text = """
        input m : f32
        input n : { a: f32, b: bool }
        t = TDom(-∞, ∞, 10, offset=4)
        t2 = TDom(-∞, ∞, 7)
        t5 = TDom(-∞, ∞, 1)
        ~o0[t] = ~m[t-2] - ~n[t].a
        ~o1[t2] = bool(count(~n[t2-40 : t2].b)) && ~o0[t2-2] != φ
        ~o2[t5] = median(~n[t5-1 : t5+1].a)
        output ~o1, ~o2"""
    m = [
        (1013, 1016, -2.5),
        (1023, 1024, 5.875),
        (1023, 1025, 5.875),
        (1028, 1030, 5.875),
        (1030, 1032, -2.5),
        (1031, 1032, 5.875),
        (1032, 1035, -2.5),
        (1049, 1050, -2.5),
        (1054, 1056, 5.875),
        (1068, 1069, 5.875),
        (1071, 1074, -2.5),
        (1073, 1075, 5.875),
        (1074, 1075, 5.875),
        (1077, 1078, -2.5),
    ]
    rows = [
        (1000, 1003, 4.5, True),
        (1002, 1037, 2.75, True),
        (1004, 1019, -2.0, True),
        (1015, 1033, -6.375, True),
        (1015, 1041, -0.5, False),
        (1021, 1050, -0.5, True),
        (1021, 1022, -0.5, False),
        (1021, 1035, -2.0, False),
        (1023, 1060, -6.375, True),
        (1032, 1049, -0.5, None),
        (1037, 1058, -6.375, None),
        (1038, 1044, None, True),
        (1044, 1062, -6.375, None),
        (1052, 1075, -0.5, True),
        (1058, 1076, -7.875, True),
        (1058, 1074, -0.5, True),
        (1062, 1078, 2.75, None),
        (1064, 1086, -6.375, True),
        (1067, 1107, 2.75, None),
        (1067, 1097, 4.5, False),
        (1068, 1070, -0.5, True),
        (1071, 1080, -2.0, True),
        (1074, 1105, -0.5, True),
        (1076, 1104, None, None),
        (1079, 1111, -7.875, True),
    ]
    n: list[tuple[int, int, Value]] = [
        (start, end, {"a": a, "b": b}) for start, end, a, b in rows
    ]
    setting = Setting(layout=TimeLayout.CONTIGUOUS, nulls="samples", vector=True)
    check_engines(text, {"m": m, "n": n}, settings=[setting])
