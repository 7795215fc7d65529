"""Ingress of sessions: lateness, promises, idle inputs, and bad pushes."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

import pyarrow as pa
import pytest

import tiltpy as tilt

COUNTS = """
unit s
input x : f64 time ts point
g = TDom(-∞, ∞, 10)
~n[g] = count(~x[g-10 : g])
output ~n
"""
ROWS = "input x : f64 time ts point\ne = Rows(~x)\n~o[e] = ~x[e]\noutput ~o"
PAIRS = """
input x : f64 time ts point
input y : f64 time ts point
~o[t] = sum(~x[t-5 : t]) + sum(~y[t-5 : t])
output ~o
"""


def rows(*stamps: int, unit: str | None = "s") -> pa.Table:
    times = pa.array(stamps, pa.int64())
    if unit is not None:
        times = times.cast(pa.timestamp(unit))
    values = pa.array([float(stamp) for stamp in stamps], pa.float64())
    return pa.table({"ts": times, "x": values})


def ticks(*stamps: int, name: str = "x") -> pa.Table:
    values = pa.array([float(stamp) for stamp in stamps], pa.float64())
    return pa.table({"ts": pa.array(stamps, pa.int64()), name: values})


def at(seconds: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=seconds)


def test_a_window_is_final_when_it_closes() -> None:
    live = tilt.parse(COUNTS).live()
    first = live.push(x=rows(3, 8))
    assert (len(first["n"].final), first["n"].through) == (0, None)
    second = live.push(x=rows(12))
    assert second["n"].final.to_arrow()["n"].to_pylist() == [2]
    assert second["n"].through == second.through == at(10)
    promised = live.advance("1970-01-01T00:00:30")
    assert promised["n"].final.to_arrow()["n"].to_pylist() == [1]
    (zero,) = promised["n"].open.to_arrow().to_pylist()
    assert zero == {"start": at(20), "end": at(30), "n": 0}


def test_the_same_row_is_late_whatever_the_batches() -> None:
    stamps = (5, 9, 4, 7, 9, 6, 12, 8, 10)
    query = tilt.parse(COUNTS)
    late = []
    for size in (1, 2, 9):
        live = query.live(x=tilt.ingress(reorder="3s", late="side"))
        updates = [
            live.push(x=rows(*stamps[first : first + size]))
            for first in range(0, len(stamps), size)
        ]
        tables = [update.late["x"] for update in updates]
        late.append(pa.concat_tables(tables).drop_columns("ts").to_pylist())
        assert live.counts["x"].accepted == 7
        assert live.counts["x"].late == 2
    expected = [
        {"x": 4.0, "row": 2, "late_by": 2},
        {"x": 8.0, "row": 7, "late_by": 1},
    ]
    assert late == [expected] * 3


def test_other_columns_do_not_wait() -> None:
    """Rows that wait hold the columns that the query reads, and no others."""
    plain, wide = (
        tilt.parse(COUNTS).live(
            x=tilt.ingress(reorder="1h", time="ts", column="x", late="side")
        )
        for _ in range(2)
    )
    frame = rows(*range(1000))
    other = pa.array(["a long text"] * 1000)
    plain.push(x=frame)
    wide.push(x=frame.append_column("other", other))
    waiting = [each._engine.sources["x"].waiting.bytes for each in (plain, wide)]
    assert waiting[0] == waiting[1]
    (late,) = wide.push(x=rows(-4000).append_column("other", other[:1])).late.values()
    assert late["other"].to_pylist() == ["a long text"]


def test_the_boundary_itself_is_in_time() -> None:
    """Complete through 10 less 3: a row that starts there is not late."""
    live = tilt.parse(COUNTS).live(x=tilt.ingress(reorder="3s"))
    live.push(x=rows(10))
    live.push(x=rows(7))
    assert live.counts["x"].late == 0
    live.push(x=rows(6))
    assert live.counts["x"].late == 1


def test_adjusted_rows_start_where_the_input_is_complete() -> None:
    live = tilt.parse(COUNTS).live(x=tilt.ingress(late="adjust"))
    updates = [live.push(x=rows(3, 12, 4, 5)), live.finish()]
    assert live.counts["x"].adjusted == 2
    finals = [update["n"].final.to_arrow()["n"].to_pylist() for update in updates]
    assert finals == [[1], [3]]


@pytest.mark.parametrize(
    "other",
    [
        pa.array(["a", "b"], pa.string_view()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array([[1], [2]]),
    ],
    ids=lambda array: str(array.type),
)
def test_late_rows_have_the_columns_of_the_first_frame(other: pa.Array) -> None:
    live = tilt.parse(COUNTS).live(x=tilt.ingress(late="side", column="x"))
    wide = rows(1, 20).append_column("other", other)
    frames = [wide, wide, wide.append_column("more", other), rows(3, 4)]
    late = [live.push(x=frame).late["x"] for frame in frames]
    first = other[0].as_py()
    assert pa.concat_tables(late)["other"].to_pylist() == [first, first, None, None]


def test_views_of_strings_may_come_late_and_out_of_order() -> None:
    """Arrow does not move their rows: they are cast first."""
    query = tilt.parse(
        "input x : { s: string } time ts point\n~out[t] = ~x[t].s\noutput ~out\n"
    )
    live = query.live(x=tilt.ingress(reorder=3, late="side"))
    views = pa.array(["e", "a text of more than twelve bytes", "d"], pa.string_view())
    live.push(x=pa.table({"ts": [5, 3, 4], "s": views}))
    update = live.push(x=pa.table({"ts": [9, 1, 8], "s": views}))
    assert update.late["x"]["s"].to_pylist() == ["a text of more than twelve bytes"]
    found = [update["out"].final.to_arrow(), live.finish()["out"].final.to_arrow()]
    assert pa.concat_tables(found)["out"].to_pylist() == [
        *("a text of more than twelve bytes", "d", "e"),
        *("d", "e"),
    ]


def by_rows(values: pa.Array) -> pa.Array:
    return values


def by_codes(values: pa.Array) -> pa.Array:
    return values.dictionary_encode()


def by_runs(values: pa.Array) -> pa.Array:
    ends = pa.array(range(1, len(values) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, values)


def in_struct(values: pa.Array) -> pa.Array:
    unread = by_runs(values)
    mask = pa.array([False] * len(values))
    return pa.StructArray.from_arrays([values, unread], ["v", "unread"], mask=mask)


ENCODINGS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "rows": by_rows,
    "codes": by_codes,
    "runs": by_runs,
    "runs of views": lambda texts: by_runs(texts.cast(pa.string_view())),
    "codes of views": lambda texts: by_codes(texts).cast(
        pa.dictionary(pa.int32(), pa.string_view())
    ),
    "runs of codes": lambda texts: by_runs(by_codes(texts)),
    "field": in_struct,
    "field of runs": lambda texts: in_struct(by_runs(texts)),
    "field of views": lambda texts: in_struct(texts.cast(pa.string_view())),
}


@pytest.mark.parametrize("by", ["", "by k "])
@pytest.mark.parametrize("late", ["side", "adjust"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_columns_may_be_encoded_in_any_way(
    encoding: str, late: Literal["side", "adjust"], by: str
) -> None:
    """Arrow moves rows of some encodings alone: the others are decoded first."""
    encode = ENCODINGS[encoding]
    query = tilt.parse(
        f"input x {by}: {{ v: string }} time ts point\ne = Rows(~x)\n"
        "~o[e] = ~x[e].v\noutput ~o\n"
    )
    frames = [
        ([5, 3, 4, 9], ["e", "a text of more than twelve bytes", None, "e"]),
        ([12, 1, 13, 11], ["d", "late", "f", "d"]),
    ]
    ingress = tilt.ingress(reorder=4, late=late, accepted=True)
    updates, live = [], query.live(x=ingress)
    for stamps, texts in frames:
        plain, stamped = pa.array(texts, pa.string()), pa.array(stamps)
        keys, values = plain.fill_null("none"), encode(plain)
        if not by:
            keys = stamped
        elif not pa.types.is_struct(values.type):
            keys = encode(keys)
        if encoding in ("codes", "runs"):
            stamped = encode(stamped)
        name = "of" if pa.types.is_struct(values.type) else "v"
        columns = [stamped, values, keys]
        updates.append(live.push(x=pa.Table.from_arrays(columns, ["ts", name, "k"])))
    updates.append(live.finish())
    assert live.counts["x"].late == (late == "side")
    assert live.counts["x"].adjusted == (late == "adjust")
    accepted = pa.concat_tables([update.accepted_rows["x"] for update in updates])
    finals = pa.concat_tables([update["o"].final.to_arrow() for update in updates])
    order = [(name, "ascending") for name in finals.column_names]
    expected = query.run(x=accepted)["o"].to_arrow()
    assert finals.sort_by(order).equals(expected.sort_by(order))
    assert finals.num_rows == 6 + (late == "adjust")


def test_late_rows_that_are_refused_take_nothing_of_the_push() -> None:
    live = tilt.parse(COUNTS).live(x=tilt.ingress(late="throw"))
    live.push(x=rows(3, 12))
    with pytest.raises(tilt.DataError, match=r"row 1: the row is late") as caught:
        live.push(x=rows(15, 4))
    assert caught.value.row == 1
    assert live.counts["x"].read == 2
    assert live.push(x=rows(25))["n"].through == at(20)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (pa.table({"ts": ["a"], "x": [1.0]}), "found string"),
        (pa.table({"x": [1.0]}), "there is no such column in this frame"),
        (rows(99).set_column(1, "x", pa.array(["1"])), "found string"),
        (rows(-1500, unit="ms"), "found timestamp"),
        (pa.table({"ts": pa.nulls(1, pa.timestamp("s")), "x": [1.0]}), "time is null"),
        (rows(10**9), "more than jump= allows"),
        ("rows.csv", "found the path of a file"),
    ],
)
def test_bad_pushes_leave_the_session_as_it_was(frame: object, text: str) -> None:
    live = tilt.parse(COUNTS).live(x=tilt.ingress(jump="1h"))
    before = live.push(x=rows(3, 12))
    with pytest.raises(tilt.DataError, match=text):
        live.push(x=frame)
    assert live.counts["x"].read == 2
    after = live.push(x=rows(22))
    assert after["n"].final.to_arrow()["n"].to_pylist() == [1]
    assert before["n"].through == at(10)


def test_several_inputs_are_taken_together_or_not_at_all() -> None:
    live = tilt.parse(PAIRS).live()
    with pytest.raises(tilt.DataError):
        live.push(x=ticks(1, 2), y=pa.table({"ts": ["a"], "y": [1.0]}))
    assert live.counts["x"].read == 0
    update = live.push(x=ticks(1, 2, 9), y=ticks(1, 2, 9, name="y"))
    assert update["o"].through == 8


def test_a_refused_push_leaves_the_rows_that_wait() -> None:
    live = tilt.parse(PAIRS).live(y=tilt.ingress(late="throw"))
    updates = [live.push(x=ticks(1, 2, 9), y=ticks(1, 2, 9, name="y"))]
    for bad in (pa.table({"ts": ["a"], "y": [1.0]}), ticks(3, name="y")):
        live.push(x=ticks(9), y=ticks(9, name="y"))
        with pytest.raises(tilt.DataError):
            live.push(x=ticks(9, 10, 12), y=bad)
    assert live.counts["x"].waiting == 3
    updates += [live.push(x=ticks(9, 11)), live.push(y=ticks(12, name="y"))]
    updates.append(live.finish())
    tables = [update["o"].final.to_arrow() for update in updates]
    whole = tilt.parse(PAIRS).run(
        x=ticks(1, 2, 9, 9, 9, 9, 11), y=ticks(1, 2, 9, 9, 9, 12, name="y")
    )
    assert pa.concat_tables(tables).equals(whole["o"].to_arrow())


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_rows_in_order_go_before_others_that_wait(size: int) -> None:
    """Frames in order are not behind one another; between them all are saved."""
    stamps = [1, 4, 9, 5, 6, 7, 8, 10, 11, 9, 12, 13, 13, 13, 16, 15, 17, 20, 21, 30]
    query = tilt.parse(ROWS)
    live, tables = query.live(x=tilt.ingress(reorder=5)), []
    for first in range(0, len(stamps), size):
        update = live.push(x=ticks(*stamps[first : first + size]))
        tables.append(update["o"].final.to_arrow())
        if first % 4 == 0:
            live.save()
    assert live.counts["x"].waiting == 1
    tables.append(live.finish()["o"].final.to_arrow())
    whole = query.run(x=ticks(*sorted(stamps)))["o"].to_arrow()
    assert pa.concat_tables(tables).equals(whole)


def test_an_idle_input_holds_nothing_back() -> None:
    query = tilt.parse(PAIRS)
    schema = ticks(name="y").schema
    live = query.live(y=tilt.ingress(schema=schema))
    assert live.push(x=ticks(1, 9))["o"].through is None
    assert live.idle("y")["o"].through == 8
    assert live.push(x=ticks(20))["o"].through == 19
    late = live.push(y=ticks(12, 25, name="y"))
    assert live.counts["y"].late == 1
    assert late["o"].through == 19
    assert live.push(x=ticks(30))["o"].through == 24


def test_the_order_of_idling_does_not_matter() -> None:
    query = tilt.parse(PAIRS)
    for order in (("x", "y"), ("y", "x")):
        live = query.live()
        live.push(x=ticks(1, 9), y=ticks(5, 6, name="y"))
        for name in order:
            update = live.idle(name)
        assert update["o"].through == 8


def test_promises_before_any_row_make_no_output() -> None:
    live = tilt.parse(COUNTS).live(x=tilt.ingress(schema=rows().schema))
    update = live.advance("1970-01-01T00:01:00")
    assert len(update["n"].final) == len(update["n"].open) == 0
    update = live.push(x=rows(95, 120))
    assert update["n"].final.to_arrow()["start"].to_pylist() == [at(94)]
    assert live.counts["x"].late == 0


def test_weaker_promises_say_nothing() -> None:
    live = tilt.parse(COUNTS).live()
    live.push(x=rows(3, 42))
    assert live.advance("1970-01-01T00:00:10")["n"].through == at(40)


def test_finish_takes_nothing_back() -> None:
    live = tilt.parse(COUNTS).live()
    live.push(x=rows(3))
    promised = live.advance("1970-01-01T00:00:40")
    assert promised["n"].through == at(40)
    last = live.finish()
    (zero,) = last["n"].final.to_arrow().to_pylist()
    assert zero == {"start": at(10), "end": at(40), "n": 0}


def test_calls_of_a_session_that_is_over_say_why() -> None:
    query = tilt.parse(COUNTS)
    live = query.live()
    live.finish()
    with pytest.raises(tilt.TiltError, match=r"push\(\): the session is finished"):
        live.push(x=rows(1))
    with query.live() as other:
        pass
    with pytest.raises(tilt.TiltError, match=r"advance\(\): the session is closed"):
        other.advance("1970-01-01T00:00:40")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyboardInterrupt(), "the session was stopped in the middle of a call; open"),
        (MemoryError(), r"the session has failed \(MemoryError\) in the middle"),
        (
            tilt.DataError("too far"),
            r"the session has failed \(too far\) in the middle",
        ),
    ],
)
def test_a_session_that_failed_says_how(
    error: BaseException, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a call that had taken rows already nobody can say what has become of them."""
    live = tilt.parse(COUNTS).live()
    live.push(x=rows(3))

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(live._engine, "_step", fail)
    with pytest.raises(type(error)):
        live.push(x=rows(13))
    with pytest.raises(tilt.TiltError, match=r"push\(\): " + text):
        live.push(x=rows(23))


def test_open_rows_of_before_are_not_mistaken_for_those_of_now() -> None:
    live = tilt.parse(COUNTS).live()
    update = live.push(x=rows(3, 12))
    live.push(x=rows(25))
    with pytest.raises(tilt.TiltError, match="the session has gone on"):
        _ = update["n"].open


@pytest.mark.parametrize("key", ["", " by k"])
def test_early_snapshots_are_those_of_a_run_over_the_rows_so_far(key: str) -> None:
    text = COUNTS.replace("input x", f"input x{key}")
    query = tilt.parse(text)
    live = query.live(x=tilt.ingress(reorder="20s"))
    frame = rows(3, 8, 14, 31, 33, 22, 47).append_column("k", pa.array([*"ababaab"]))
    final = []
    for first in range(0, 7, 2):
        update = live.push(x=frame.slice(first, 2))
        final.append(update["n"].final.to_arrow())
        early = update["n"].early.to_arrow()
        so_far = frame.slice(0, first + 2)
        end = max(stamp for stamp in early["end"].to_pylist())
        whole = query.run(x=so_far, end=end).to_arrow()
        both = pa.concat_tables([*final, early])
        if key:
            both = both.sort_by([("k", "ascending"), ("start", "ascending")])
        assert both.combine_chunks().equals(whole.combine_chunks())
    before = live.advance("1970-01-01T00:00:30")
    live.advance("1970-01-01T00:00:40")
    with pytest.raises(tilt.TiltError, match="other snapshots are early now"):
        _ = before["n"].early


def test_what_is_known_is_said_without_a_push() -> None:
    live = tilt.parse(COUNTS).live(x=tilt.ingress(reorder="5s"))
    assert live.result()["n"].through is None
    pushed = live.push(x=rows(3, 12, 28, 27))["n"]
    assert len(pushed.final) == 2
    known = live.result()["n"]
    assert known.through == pushed.through == at(20)
    assert len(known.final) == 0
    assert known.open.to_arrow().equals(pushed.open.to_arrow())
    assert known.early.to_arrow()["n"].to_pylist() == [2]
    live.close()
    with pytest.raises(tilt.TiltError, match=r"result\(\): the session is closed"):
        live.result()


def test_names_and_arguments_are_checked() -> None:
    query = tilt.parse(COUNTS)
    with pytest.raises(tilt.DataError, match=r"push\(\): the query has no such input"):
        query.live().push(z=rows(1))
    with pytest.raises(tilt.TiltError, match="late='never': expected 'drop'"):
        tilt.ingress(late="never")  # type: ignore[arg-type]
    with pytest.raises(tilt.TiltError, match="expected no negative length"):
        query.live(x=tilt.ingress(reorder=-3))
    with pytest.raises(tilt.TiltError, match=r"rows later, by push\(x=frame\)"):
        query.live(x=rows(1))
    with pytest.raises(tilt.TiltError, match=r"advance\(\) takes a time"):
        query.live().advance()


def test_what_is_never_final_is_refused() -> None:
    body = "input x : f64 time ts point\n~o[t] = ~x[t : next]\noutput ~o"
    with pytest.raises(tilt.QueryError, match="looks ahead into ~x without a bound"):
        tilt.parse(body).live()
    within = body.replace("next]", "next within 5]")
    live = tilt.parse(within).live()
    assert live.push(x=ticks(1, 20))["o"].through == 14


def test_a_held_value_is_open_until_it_is_replaced() -> None:
    query = tilt.parse("input x : f64 time ts until_next\n~o[t] = ~x[t]\noutput ~o")
    live = query.live()
    live.push(x=ticks(1))
    update = live.advance(50)
    (held,) = update["o"].open.to_arrow().to_pylist()
    assert held == {"start": 0, "end": 50, "o": 1.0}
    replaced = live.push(x=ticks(61, 70))
    final = replaced["o"].final.to_arrow().to_pylist()
    assert final == [{"start": 0, "end": 60, "o": 1.0}]
    (held,) = replaced["o"].open.to_arrow().to_pylist()
    assert held == {"start": 60, "end": 69, "o": 61.0}


def test_open_snapshots_that_are_kept_stay_as_they_were() -> None:
    query = tilt.parse("input x : i64 time t until_next\ndistinct ~y[t] = ~x[t]\n")
    with query.live() as live:
        kept = []
        for stamp in range(1, 6):
            row = pa.table({"t": [stamp], "x": [7]})
            kept.append(live.push(x=row)["y"].open.to_arrow())
        ends = [table["end"].to_pylist() for table in kept]
    assert ends == [[], [1], [2], [3], [4]]


def test_keys_that_are_quiet_go_on() -> None:
    text = "input x by k : f64 time ts until_next\n~o[t] = ~x[t]\noutput ~o"
    live = tilt.parse(text).live()
    frame = pa.table({"ts": [1, 2, 5], "k": ["a", "b", "b"], "x": [1.0, 2.0, 3.0]})
    update = live.push(x=frame)
    assert update["o"].open.to_arrow().to_pylist() == [
        {"k": "a", "start": 0, "end": 4, "o": 1.0},
        {"k": "b", "start": 1, "end": 4, "o": 2.0},
    ]
    update = live.advance(30)
    assert update["o"].final.to_arrow().to_pylist() == [
        {"k": "b", "start": 1, "end": 4, "o": 2.0}
    ]
    assert [row["end"] for row in update["o"].open.to_arrow().to_pylist()] == [30, 30]


@pytest.mark.parametrize("by", ["", " by k"])
def test_a_distinct_value_goes_on_in_the_rows_to_come(by: str) -> None:
    """The row of the next cell has come, but is not settled: it may not be the last."""
    query = tilt.parse(f"""
        input x{by} : f64 time ts sampled 1
        distinct ~high[t] = ~x[t] > 4 ? true : φ
        output ~high
    """)
    live = query.live()
    stamps = pa.array([1, 2, 3, 4, 5, 6])
    frame = pa.table({"ts": stamps, "x": [5.0, 6.0, 7.0, 5.0, 1.0, 2.0], "k": [1] * 6})
    first = live.push(x=frame.slice(0, 3))["high"]
    assert (len(first.final), first.through) == (0, 2)
    assert first.open.to_arrow().select(["start", "end"]).to_pylist() == [
        {"start": 0, "end": 2}
    ]
    second = live.push(x=frame.slice(3))["high"]
    assert second.final.to_arrow().select(["start", "end"]).to_pylist() == [
        {"start": 0, "end": 4}
    ]


@pytest.mark.parametrize("by", ["", " by k"])
def test_what_reads_a_distinct_object_goes_on_with_it(by: str) -> None:
    query = tilt.parse(f"""
        input x{by} : f64 time ts sampled 1
        distinct ~high[t] = ~x[t] > 4 ? true : φ
        ~o[t] = ~high[t] == true ? 1 : φ
        output ~o
    """)
    live = query.live()
    stamps = pa.array([1, 2, 3, 4, 5, 6])
    frame = pa.table({"ts": stamps, "x": [5.0, 6.0, 7.0, 5.0, 1.0, 2.0], "k": [1] * 6})
    first = live.push(x=frame.slice(0, 3))["o"]
    assert (len(first.final), first.through) == (0, 2)
    second = live.push(x=frame.slice(3))["o"]
    assert second.final.to_arrow().select(["start", "end"]).to_pylist() == [
        {"start": 0, "end": 4}
    ]


def test_times_that_python_has_not() -> None:
    live = tilt.parse(COUNTS).live()
    live.push(x=rows(1, 2))
    for time in (2**62 + 1, -(10**30)):
        with pytest.raises(tilt.TiltError, match="lies beyond ±2"):
            live.advance(time)
        with pytest.raises(tilt.TiltError, match="lies beyond ±2"):
            live.advance(x=time)
    far = live.advance(10**12)
    assert str(far.through) == "33658-09-27T01:46:40"
    assert live.push(x=rows(10**12 + 20)).late == {}
    assert str(live.complete["x"]) == "33658-09-27T01:46:59"
    with pytest.raises(tilt.TiltError, match="expected the name of an input, found an"):
        live.idle(5)  # type: ignore[arg-type]
    by_key = tilt.parse("unit s\ninput x by k : f64 time ts point\n~o[t] = ~x[t]")
    keys = pa.array([3 * 10**11] * 2).cast(pa.timestamp("s"))
    result = by_key.run(x=rows(1, 2).append_column("k", keys))
    assert result.windows().num_rows == 2
