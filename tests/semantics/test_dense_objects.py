"""Objects with a snapshot at each event, read by others at its times.

Their times are not written: readers find them at the events. Against the interpreter,
with every kind of window and reference to them.
"""

from random import Random

import pytest

from tests.random.queries import Case
from tests.semantics.test_running_vectors import check_points
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.interpreter.evaluate import Event
from tiltpy.plan.nodes import EventScan

CASES, DEEPER, STREAMED = 4, 300, 3
VALUES = (
    "t",
    "t - 3",
    "2 * ~x[t] - count(~x[t-9 : t-1])",
    "count(~x[t-20 : t])",
    "sum(~x[t-5 : t])",
    "count(~x[t : t+6])",
)
READS = (
    "~v[t]",
    "~v[t-1]",
    "~v[t+2]",
    "sum(~v[t-7 : t])",
    "count(~v[t-60 : t-3])",
    "max(~v[t-2 : t+4])",
    "last(~v[t-30 : t-1])",
    "first(~v[t : t+30])",
    "mean(~v[-∞ : t])",
    "sum(~v[last 3 : t])",
    "first(~v[since ~c : t])",
    "median(~v[t-40 : t])",
    "~v[last : t within 9]",
)


def random_case(seed: int) -> Case:
    """One or two objects at the events, and others that read them anyhow."""
    random = Random(f"dense {seed}")  # noqa: S311 - tests, not secrets
    value = random.choice(VALUES)
    lines = ["input x : f64", f"~v[t] = ~x[t] != φ ? {value} : φ"]
    if random.random() < 0.5:
        lines.append(
            f"~c[t] = ~x[t] != φ ? count(~x[t-{random.randint(2, 30)} : t-1]) == 0 : φ"
        )
    else:
        lines.append("~c[t] = ~x[t] > 0.5")
    reads = [random.choice(READS) for _ in range(random.choice((1, 1, 2, 3)))]
    fields = ", ".join(f"f{number} = {read}" for number, read in enumerate(reads))
    result = reads[0] if len(reads) == 1 else f"{{ {fields} }}"
    if random.random() < 0.6:
        result = f"~x[t] != φ ? {result} : φ"
    lines += [f"~o[t] = {result}", "output ~o"]
    time, events = random.randint(-50, 50), []
    for _ in range(random.choice((0, 1, 3, 20, 70, 150))):
        events.append(Event(time, time + 1, random.randint(-12, 12) / 8))
        time += random.choice((1, 1, 1, 2, 5, 9, 40))
    start = random.choice((None, None, time - 30))
    end = random.choice((None, None, time - 5))
    if start is not None and end is not None and random.random() < 0.3:
        end = start
    return Case(parse("\n".join(lines) + "\n"), {"x": events}, start, end)


@pytest.mark.parametrize("batch", range(4))
def test_readers_of_dense_objects(batch: int, *, deep: bool) -> None:
    for seed in range(batch, CASES * (DEEPER if deep else 1), 4):
        check_points(random_case(seed), seed, streamed=seed % STREAMED == 0)


POINTS = Layout(TimeLayout.INTERVALS, (False,), points=True)


@pytest.mark.parametrize(
    ("reader", "dense"),
    [
        ("~o[t] = sum(~v[t-9 : t])", True),
        ("~o[t] = ~x[t] > 0 ? max(~v[-∞ : t]) : φ", True),
        ("g = TDom(-∞, ∞, 64)\n~o[g] = sum(~v[g-64 : g])", False),
    ],
)
def test_which_objects_share_times(reader: str, dense: bool) -> None:
    body = "~v[t] = ~x[t] != φ ? count(~x[t-9 : t]) : φ"
    query = parse(f"input x : f64\n{body}\n{reader}\noutput ~o\n")
    kernels = QueryKernels(query, {"x": POINTS}, CompileOptions())
    plan = next(each.plan for each in kernels.choices if each.name == "v")
    assert isinstance(plan, EventScan)
    assert plan.dense is dense
