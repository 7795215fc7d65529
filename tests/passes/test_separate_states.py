"""Readers of outputs that fold on read copies, wherever they refer to them."""

import pyarrow as pa

import tiltpy as tilt
from tiltpy.ir.cuts import reads
from tiltpy.ir.verify.invariants import verify_source
from tiltpy.passes.separate_states import separate_states

STARTS = """
input m : f64 time t point
e = Rows(~m)
~peak[e] = max(~m[-∞ : e])
~age[t] = ~peak[t] - f64(i64(start(~peak[t])))
output ~peak, ~age
"""


def test_the_start_of_a_snapshot_is_that_of_the_copy() -> None:
    query = tilt.parse(STARTS)
    separated = separate_states(query.query)
    verify_source(separated)
    (copy,) = {each.name for each in separated.definitions} - {"peak", "age"}
    age = separated.definition("age")
    assert age is not None
    assert list(reads(age)) == [copy]
    stamps = range(1, 40, 3)
    frame = pa.table({"t": stamps, "m": [float(t % 5) for t in stamps]})
    whole = query.run(m=frame)["age"].to_arrow()
    halves = iter([frame.slice(0, 5), frame.slice(5)])
    parts = [part["age"].to_arrow() for part in query.stream(m=halves)]
    assert pa.concat_tables(parts).equals(whole)
