"""Fields of objects that definitions read."""

import pytest

import tiltpy as tilt
from tiltpy.emit.references import fields_read
from tiltpy.frontend.parse import parse

BAR = "input bar : { open: f64, close: f64, volume: f64 } sampled 1\n"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("~bar[t].close + ~bar[t-1].close", {"bar": {"close"}}),
        ("sum(~bar[t-9 : t].open) + ~bar[t].volume", {"bar": {"open", "volume"}}),
        ("sum(v.open for v in ~bar[t-9 : t] if v.close > 0)", None),
        ("count(v for v in ~bar[t-9 : t] if v.open == ~bar[t].open)", {}),
        ("~bar[t]", {}),
    ],
)
def test_fields_of_structs(body: str, fields: dict[str, set[str]] | None) -> None:
    expected = {"bar": {"open", "close"}} if fields is None else fields
    assert fields_read(parse(f"{BAR}~o[t] = {body}").definitions) == expected


def test_kernels_prefetch_the_columns_that_they_read() -> None:
    query = tilt.parse(f"{BAR}~o[t] = sum(~bar[t-9 : t].close)")
    kernel = query.explain()
    fetched = {line.split()[1] for line in kernel.splitlines() if "prefetch" in line}
    columns = {name.split("[")[0] for name in fetched if "values" in name}
    assert columns == {"bar.values1"}
