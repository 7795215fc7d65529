"""The methods of quantiles against NumPy's, in every kernel that has quantiles."""

import numpy as np
import pytest

import tiltpy as tilt
from tests.compiled import Setting, run_compiled
from tests.random.queries import Case
from tests.semantics.test_properties import check
from tiltpy.frontend.parse import parse
from tiltpy.frontend.python.builder import TDom, build_query, define, source
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.print.query import format_query
from tiltpy.ops import QUANTILE_METHODS
from tiltpy.types import F64

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
WINDOW = 7
SETTINGS = {
    "vectors": Setting(vector=True, small=True, chunk=64, optimize=False),
    "counts": Setting(special_shapes=False, optimize=False),
    "chunks": Setting(chunk=9, workers=2, points=True, optimize=False),
}
FORMS = {"plain": "v", "present": "v + 0 * ~x[t]"}
"""Elements that see the present are sorted anew."""


@pytest.mark.covering(1)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", QUANTILE_METHODS)
def test_methods_are_those_of_numpy(method: str, form: str) -> None:
    window = f"{FORMS[form]} for v in ~x[t-{WINDOW} : t]"
    fields = ", ".join(
        f'q{i} = quantile({window}, {share}, "{method}")'
        for i, share in enumerate(SHARES)
    )
    query = parse(f"input x : f64\n~o[t] = {{ {fields} }}")
    assert parse(format_query(query)) == query
    values = np.random.default_rng(8).integers(-20, 20, 60) / 4
    events = [Event(i, i + 1, float(value)) for i, value in enumerate(values)]
    case = Case(query, {"x": events}, 0, len(values))
    for setting in SETTINGS.values():
        difference = check(case, setting, exact=False)
        assert difference is None, difference
    (snapshots,) = run_compiled(case, SETTINGS["counts"]).values()
    assert len(snapshots) == len(values)
    for end, snapshot in enumerate(snapshots, 1):
        inside = values[max(0, end - WINDOW) : end]
        expected = np.quantile(inside, SHARES, method=method)  # type: ignore[call-overload]
        assert isinstance(snapshot.value, dict)
        assert list(snapshot.value.values()) == pytest.approx(list(expected))


def test_a_method_has_a_name_in_python() -> None:
    x, t = source("x", F64), TDom()
    ours = build_query(define("o", t, tilt.quantile(x[t - 5 : t], 0.9, method="lower")))
    text = 'input x : f64\n~o[t] = quantile(~x[t-5 : t], 0.9, method = "lower")'
    assert ours.definitions == parse(text).definitions
