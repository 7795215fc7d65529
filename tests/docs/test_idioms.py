"""Tests that what the pages for users of other tools call the same is the same."""

import math
import re
from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import pytest

import tiltpy as tilt
from tests.docs.idioms import Idiom, idioms, query_of, session
from tests.docs.listing import DOCS

FOLDER = DOCS / "coming-from"
_OTHER = re.compile("~(a|b|rate)\\b")
"""Inputs that the tables of joins only name."""

Values = dict[object, list[object]]
"""Values by stamp; NaN and null are None."""


def _pandas(idiom: Idiom, names: dict[str, Any]) -> Values:
    value = eval(idiom.theirs, names)  # noqa: S307 - our own pages
    stamps = value.index if idiom.domain != "e" else names["df"]["at"]
    return _by_stamp(stamps, value)


def _polars(idiom: Idiom, names: dict[str, Any]) -> Values:
    frame = names["df"]
    value = frame.select(eval(idiom.theirs, names).alias("v"))["v"]  # noqa: S307
    return _by_stamp(frame["at"], value)


def _duckdb(idiom: Idiom, names: dict[str, Any]) -> Values:
    rows = names["df"]
    text = f"select ts, {idiom.theirs} v from rows order by ts, y"  # noqa: S608
    relation = duckdb.sql(text)
    assert relation is not None
    found = relation.df()
    assert len(rows) == len(found)
    return _by_stamp(found["ts"], found["v"])


PEERS: dict[str, Callable[[Idiom, dict[str, Any]], Values]] = {
    "pandas.md": _pandas,
    "polars.md": _polars,
    "sql.md": _duckdb,
}
ALL = [
    idiom
    for page in sorted(FOLDER.glob("*.md"))
    if page.name != "index.md"
    for idiom in idioms(page)
]
COMPARED = [
    idiom
    for idiom in ALL
    if idiom.page in PEERS
    and not idiom.theirs.startswith(("pd.merge", "a.", "from ", "group"))
]


@pytest.mark.parametrize("idiom", COMPARED, ids=str)
def test_an_idiom_gives_what_the_other_tool_gives(idiom: Idiom) -> None:
    page = FOLDER / idiom.page
    names: dict[str, Any] = session(page)
    query = tilt.parse(query_of(page, idiom))
    frames: dict[str, Any] = {
        each.name: tilt.bind(
            names["df"][[names["df"].columns[0], *{each.name, "y"}]], column=each.name
        )
        for each in query.query.inputs
    }
    frame = query.run(**frames).to_pandas()
    label = pd.Timedelta("59s" if idiom.domain == "begin" else 0)
    found = _by_stamp(frame["end"] - label, frame["o"])
    expected = PEERS[idiom.page](idiom, names)
    if idiom.domain != "e":
        found, expected = _present(found), _present(expected)
    assert found.keys() == expected.keys()
    for stamp, values in found.items():
        pairs = list(zip(values, expected[stamp], strict=True))
        assert all(_agree(*pair) for pair in pairs), (stamp, pairs)


@pytest.mark.parametrize(
    "idiom", [i for i in ALL if not _OTHER.search(i.ours)], ids=str
)
def test_an_idiom_is_an_expression(idiom: Idiom) -> None:
    tilt.parse(query_of(FOLDER / idiom.page, idiom))


def test_the_tables_are_read() -> None:
    assert len(COMPARED) >= 40
    assert len(ALL) >= 70


def _by_stamp(stamps: Any, values: Any) -> Values:
    rows: Values = {}
    for stamp, value in zip(stamps, values, strict=True):
        rows.setdefault(pd.Timestamp(stamp), []).append(_plain(value))
    return rows


def _present(rows: Values) -> Values:
    """Leave out bins that are empty: they are gaps here, nulls or zeros elsewhere."""
    return {
        stamp: values for stamp, values in rows.items() if values not in ([None], [0])
    }


def _agree(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float | int):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-12)
    return ours == theirs


def _plain(value: Any) -> object:
    if (
        value is None
        or value is pd.NA
        or (isinstance(value, float) and math.isnan(value))
    ):
        return None
    return value.item() if hasattr(value, "item") else value
