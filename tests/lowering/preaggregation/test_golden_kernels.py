"""Golden loop IR of the kernels that fold by key, and what they are not for."""

import pytest

from tests import GOLDEN
from tests.lowering.sweep.test_golden_kernels import check_golden, described
from tiltpy.abi.layouts import Layout, TimeLayout
from tiltpy.compiler.options import CompileOptions
from tiltpy.compiler.query_kernels import Compiler, QueryKernels
from tiltpy.frontend.parse import parse
from tiltpy.plan.nodes import DISABLED, Refusal

DECLARED = "input x by k : { type: i32, price: f32 }\ninput r : f32\n"
TUMBLING = """\
w = TDom(-∞, ∞, 10)
~o[w] = count(v for v in ~x[w-10 : w] if v.type == 1)"""
HOPPING = """\
w = TDom(-∞, ∞, 10)
~o[w] = {
    mean = mean(v.price for v in ~x[w-25 : w])
    last = last(v.price for v in ~x[w-25 : w] if v.type == 1)
    return { mean = mean, last = last }
}"""


def specialised(text: str, *, disabled: tuple[str, ...] = ()) -> QueryKernels:
    layouts = {
        "x": Layout(TimeLayout.OVERLAPPING, (False, True)),
        "r": Layout(TimeLayout.SAMPLED, (False,)),
    }
    options = CompileOptions(disabled_strategies=frozenset(disabled), cache=False)
    return Compiler(parse(DECLARED + text), options).compile_for(layouts)


@pytest.mark.parametrize(
    ("name", "text"), [("tumbling", TUMBLING), ("hopping", HOPPING)]
)
def test_kernels(name: str, text: str, *, update_golden: bool) -> None:
    fold, cells = specialised(text).preaggregation_code("o", narrow=True)
    found = described(DECLARED + text, fold.lower()) + "\n"
    found += described("", cells.lower()).lstrip()
    check_golden(GOLDEN / "loops" / f"fold_{name}.txt", found, update=update_golden)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("~x[w].price", "~o refers to more than windows"),
        ("sum(v.price for v in ~x[w-5 : w]) + ~r[w]", "~o refers to more than windows"),
        ("sum(~r[w-5 : w]) + count(~x[w-5 : w])", "~o refers to several inputs"),
        ("count(~x[w-5 : w]) + w", "~o refers to more than windows"),
        (
            "median(v.price for v in ~x[w-5 : w])",
            "median of ~x looks at a window as a whole",
        ),
        ("true", "~o refers to nothing"),
    ],
)
def test_what_must_be_grouped(body: str, reason: str) -> None:
    text = f"w = TDom(0, 100, 5)\n~o[w] = {body}"
    assert specialised(text).pane_aggregation("o") == Refusal(reason)


def test_what_reads_another_object_must_be_grouped() -> None:
    text = """
~held[t] = ~x[t].price - ~x[t-1].price
w = TDom(-∞, ∞, 5)
~o[w] = sum(~held[w-5 : w])"""
    reason = "~o refers to ~held, which is not an input"
    assert specialised(text).pane_aggregation("o") == Refusal(reason)


def test_preaggregation_is_disabled() -> None:
    found = specialised(TUMBLING, disabled=("preaggregation",))
    assert found.pane_aggregation("o") == DISABLED


@pytest.mark.parametrize(
    "text",
    [
        "count(~x[w-10 : w])",
        "sum(~x[w-10 : w])",
    ],
)
def test_without_a_condition_all_of_an_entry_counts_events(text: str) -> None:
    query = f"input x by k : i32\nw = TDom(-∞, ∞, 10)\n~o[w] = {text}"
    layouts = {"x": Layout(TimeLayout.OVERLAPPING, (False,))}
    compiled = Compiler(parse(query), CompileOptions(cache=False)).compile_for(layouts)
    fold, _ = compiled.preaggregation_code("o", narrow=True)
    assert fold.signature.pane_aggregation is not None
    assert fold.signature.pane_aggregation.half == 0
