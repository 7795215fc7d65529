"""Times in text: years beyond those that Arrow writes."""

from pathlib import Path

import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.errors import DataError
from tiltpy.runtime.arrow.time_texts import check_texts, write_times

YEAR = 31_556_952


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_that_have_texts(unit: str, zone: str | None) -> None:
    size = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    years = [-36_000, -32_000, 0, 30_000, 31_000]
    counts = [year * YEAR * size for year in years]
    kept = [n if abs(n) < 1 << 63 else None for n in counts]
    times = pa.array([*kept, None], pa.int64()).cast(pa.timestamp(unit, zone))
    texts = write_times(times).to_pylist()
    for year, count, text in zip(years, kept, texts, strict=False):
        if count is None:
            assert text is None
        elif year in {-36_000, 31_000}:
            assert text == f"<value out of range: {count}>"
        else:
            assert text.startswith(("-30", "1970", "31970"))
    check_texts(times.slice(1, 3))
    check_texts(times[:0])
    if unit != "ns":
        with pytest.raises(pa.ArrowInvalid, match="has no text"):
            check_texts(times)
    for kind, step in ((pa.date32(), 1), (pa.date64(), 86_400_000)):
        check_texts(pa.array([0, None], pa.int32()).cast(pa.date32()).cast(kind))
        raw = pa.array([20_000_000 * step], pa.int32() if step == 1 else pa.int64())
        with pytest.raises(pa.ArrowInvalid, match="has no text"):
            check_texts(raw.view(kind))


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.jsonl"])
def test_text_files_do_not_have_other_times(name: str, tmp_path: Path) -> None:
    query = tilt.parse("unit s\ninput x : f64 time ts point\n~o[t] = ~x[t]")
    times = pa.array([1, 10**12]).cast(pa.timestamp("s", "Europe/Berlin"))
    frame = pa.table({"ts": times, "x": [1.0, 2.0]})
    path = tmp_path / name
    with pytest.raises(DataError, match=rf"{name}: not written: a time beyond"):
        query.run_to(path, x=frame)
    assert not path.exists()
    assert query.run_to(path, x=frame[:1]) == {"o": 1}
    query.run(x=frame).write_parquet(tmp_path / "o.parquet")
    assert "<value out of range: 1000000000000>" in str(query.run(x=frame))
