"""Parts of reductions that do not agree are found, by name, time and what differed."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltpy as tilt
from tests.semantics.test_user_defined_reductions import ALL
from tiltpy.cli.main import main

HEAD = "unit s\ninput m : i64 time ts point\n"
FRAME = pa.table(
    {
        "ts": pa.array([1, 2, 3, 5], pa.timestamp("s")),
        "m": pa.array([10, 20, 30, 40], pa.int64()),
    }
)


def run(reduction: str, use: str = "~o[t] = r(~m[t-9 : t])") -> tilt.Result:
    """A query with one reduction `r`, checked."""
    query = tilt.parse(f"{HEAD} reduction r(v: i64) {{ {reduction} }} {use}")
    return query.run(m=FRAME, check_reductions=True)


def test_a_wrong_inverse() -> None:
    wrong = "init = 0 acc = state + v deacc = state - v - 1 result = state"
    with pytest.raises(tilt.DataError) as caught:
        run(wrong)
    assert str(caught.value) == (
        "the reduction r at 1970-01-01 00:00:05: `deacc` is not the inverse of `acc`: "
        "out of 100 it takes 10 and leaves 89, but over the other 3 `acc` makes 90"
    )
    query = tilt.parse(f"{HEAD} reduction r(v: i64) {{ {wrong} }} ~o[t] = r(~m[t-9:t])")
    assert len(query.run(m=FRAME).to_arrow()) > 0  # nobody asked


def test_a_wrong_merge() -> None:
    with pytest.raises(tilt.DataError) as caught:
        run(
            "init = { s = 0, n = 0 } acc = { s = state.s + v, n = state.n + 1 } "
            "merge = { s = a.s + b.s, n = a.n } result = state.s"
        )
    assert str(caught.value) == (
        "the reduction r at 1970-01-01 00:00:05: `merge` does not agree with `acc`: of "
        "{ s = 10, n = 1 } and { s = 90, n = 3 } it makes { s = 100, n = 1 }, but over "
        "all 4 snapshots `acc` makes { s = 100, n = 4 }"
    )


def test_what_windows_do_not_hold_does_not_matter() -> None:
    wrong = "init = 0 acc = v merge = a result = state"
    assert run(wrong, "~o[t] = r(~m[t-1 : t])").to_arrow()["o"].to_pylist() == [
        10, 20, 30, 40,
    ]  # fmt: skip
    with pytest.raises(tilt.DataError, match="`merge` does not agree"):
        run(wrong, "~o[t] = r(~m[t-2 : t])")


def test_conditions_and_derived_objects() -> None:
    wrong = "init = 0 acc = state + v merge = a > 60 ? 0 : a + b result = state"
    run(wrong, "~o[t] = r(v for v in ~m[t-9 : t] if v < 30)")
    with pytest.raises(tilt.DataError, match="of 120 and 80 it makes 0"):
        run(wrong, "~d[t] = ~m[t] * 2 ~o[t] = r(~d[t-9 : t] + 0)")


@pytest.mark.parametrize("name", ["my_rms", "total", "edges", "longest", "twap"])
def test_right_ones_pass(name: str) -> None:
    query = tilt.parse(f"{HEAD} {ALL} ~o[t] = {name}(~m[t-9 : t])")
    checked = query.run(m=FRAME, check_reductions=True)
    assert checked.to_arrow().equals(query.run(m=FRAME).to_arrow())


def test_structs_in_structs_and_times() -> None:
    query = tilt.parse("""
    unit s
    input q : { at: time, bid: { price: f64, size: i64 } } time ts point
    reduction paid(v: { at: time, bid: { price: f64, size: i64 } }) {
        init = { first = time(φ), sum = 0.0 }
        acc = {
            first = state.first == φ ? v.at : state.first,
            sum = state.sum + v.bid.price * v.bid.size
        }
        merge = { first = b.first, sum = a.sum + b.sum }
        result = state.sum
    }
    ~o[t] = paid(~q[t-9s : t])
    """)
    bids = [{"price": 1.5, "size": 2}, None, {"price": 2.5, "size": 4}]
    at = pa.array([1, 2, 3], pa.timestamp("s"))
    frame = pa.table({"ts": at, "at": at, "bid": bids})
    with pytest.raises(tilt.DataError, match="`merge` does not agree with `acc`"):
        query.run(q=frame, check_reductions=True)


def test_strings() -> None:
    query = tilt.parse("""
    input s : string time ts point
    reduction longest(v: string) {
        init = { most = string(φ), n = 0 }
        acc = { most = state.most == φ || v > state.most ? v : state.most,
                n = v == "b" ? state.n + 1 : state.n }
        merge = { most = b.most, n = a.n + b.n }
        result = state.most
    }
    ~o[t] = longest(~s[t-9 : t])
    """)
    frame = pa.table({"ts": [1, 2, 3], "s": ["c", None, "b"]})
    with pytest.raises(tilt.DataError) as caught:
        query.run(s=frame, check_reductions=True)
    assert 'at 3: `merge` does not agree with `acc`: of { most = "c", n = 0 }' in str(
        caught.value
    )


def test_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, data = tmp_path / "q.tilt", tmp_path / "m.parquet"
    parts = "init = 0 acc = state + v deacc = v result = state"
    whole = f"{HEAD} reduction r(v: i64) {{ {parts} }} ~o[t] = r(~m[t-9 : t])"
    text.write_text(whole)
    pq.write_table(FRAME, data)
    words = ["run", str(text), "--input", f"m={data}"]
    assert main(words) == 0
    assert main([*words, "--check-reductions"]) == 1
    assert "the reduction r at 1970-01-01 00:00:05" in capsys.readouterr().err
    assert main([*words, "--check-reductions", "--memory", "1GB"]) == 2


# Keys

WRONG = "init = 0 acc = state + v merge = a + b + (b > 50 ? 1 : 0) result = state"


def keyed(use: str, rows: pa.Table) -> tilt.Result:
    query = tilt.parse(
        "unit s\ninput m by k, l : i64 time ts point\ninput u : i64 time ts point\n"
        f"reduction r(v: i64) {{ {WRONG} }}\n{use}"
    )
    return query.run(m=rows, u=FRAME.rename_columns(["ts", "u"]), check_reductions=True)


KEYED = pa.table(
    {
        "k": ["a", "b", "a", "b", "b"],
        "l": [1, 2, 1, 2, 2],
        "ts": pa.array([7, 1, 9, 2, 4], pa.timestamp("s")),
        "m": pa.array([1, 60, 3, 70, 1], pa.int64()),
    }
)


@pytest.mark.parametrize(
    "use", ["~o[t] = r(~m[t-9 : t])", "~n[t] = ~m[t] + 0\n~o[t] = r(~n[t-9 : t])"]
)
def test_parts_are_tried_over_the_rows_of_a_key(use: str) -> None:
    with pytest.raises(tilt.DataError) as caught:
        keyed(use, KEYED)
    assert str(caught.value) == (
        "key k='b', l=2: the reduction r at 1970-01-01 00:00:04: `merge` does not "
        "agree with `acc`: of 60 and 71 it makes 132, but over all 3 snapshots `acc` "
        "makes 131"
    )
    small = KEYED.set_column(3, "m", pa.array([1, 2, 3, 4, 5], pa.int64()))
    assert len(keyed(use, small)["o"]) > 0
    assert len(keyed(use, KEYED.slice(0, 0))["o"]) == 0


def test_parts_over_objects_of_different_keys() -> None:
    use = "~o[t] = r(~m[t-9 : t])\n~p[t] = r(~u[t-9 : t])\noutput ~o, ~p"
    small = KEYED.set_column(3, "m", pa.array([1, 2, 3, 4, 5], pa.int64()))
    with pytest.raises(tilt.DataError) as caught:
        keyed(use, small)
    assert str(caught.value).startswith("the reduction r at 1970-01-01 00:00:05: ")
