"""Tests of where tiltpy meets its surroundings: wrong arguments, terminals, streams."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tiltpy as tilt
from tiltpy.visible import escape_lines, escape_text

STOCK = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("s")), "x": [1.0, 2.0, 3.0]})
X, T = tilt.source("x", tilt.f64), tilt.TDom()
TEXT = "unit s\ninput x : f64 time ts point\n~o[t] = ~x[t]"
QUERY = tilt.parse(TEXT)
RESULT = QUERY.run(x=STOCK)
WRONG: tuple[object, ...] = (5, None, object(), b"x", ["a"], 3.5, "\udc80", "a\0b")


def own(**parts: Any) -> object:
    given: dict[str, Any] = {
        "init": 0.0,
        "acc": lambda s, v: s + v,
        "result": lambda s: s,
    } | parts
    return tilt.reduction(given.pop("name", "r"), given.pop("type", tilt.f64), **given)


ARGUMENTS: dict[str, Callable[..., object]] = {
    "parse(query)": tilt.parse,
    "parse(name)": lambda w: tilt.parse(TEXT, name=w),
    "parse(params)": lambda w: tilt.parse(TEXT, params=w),
    "load(path)": tilt.load,
    "compile(outputs)": tilt.compile,
    "compile(unit)": lambda w: tilt.compile(tilt.define("o", T, X[T]), unit=w),
    "source(name)": lambda w: tilt.source(w, tilt.f64),
    "source(type)": lambda w: tilt.source("x", w),
    "source(lifetime)": lambda w: tilt.source("x", tilt.f64, w),
    "source(order)": lambda w: tilt.source("x", tilt.f64, order=w),
    "source(by)": lambda w: tilt.source("x", tilt.f64, by=w),
    "Struct(fields)": lambda w: tilt.source("x", tilt.Struct(w)),
    "define(name)": lambda w: tilt.define(w, T, X[T]),
    "define(t)": lambda w: tilt.define("o", w, X[T]),
    "define(value)": lambda w: tilt.define("o", T, w),
    "TDom(start)": lambda w: tilt.TDom(start=w),
    "TDom(end)": lambda w: tilt.TDom(end=w),
    "TDom(precision)": lambda w: tilt.TDom(precision=w),
    "TDom(offset)": lambda w: tilt.TDom(offset=w),
    "cast(type)": lambda w: tilt.cast(X[T], w),
    "when(condition)": lambda w: tilt.when(w, 1),
    "struct(field)": lambda w: tilt.struct(a=w),
    "duration(length)": tilt.duration,
    "until_next(max)": tilt.until_next,
    "sampled(values)": lambda w: QUERY.run(x=tilt.sampled(w, 0, 1)),
    "sampled(start)": lambda w: QUERY.run(x=tilt.sampled([1.0], w, 1)),
    "sampled(period)": lambda w: QUERY.run(x=tilt.sampled([1.0], 0, w)),
    "bind(frame)": lambda w: QUERY.run(x=tilt.bind(w)),
    "bind(time)": lambda w: QUERY.run(x=tilt.bind(STOCK, time=w)),
    "bind(lifetime)": lambda w: QUERY.run(x=tilt.bind(STOCK, lifetime=w)),
    "bind(column)": lambda w: QUERY.run(x=tilt.bind(STOCK, column=w)),
    "bind(order)": lambda w: tilt.bind(STOCK, order=w),
    "bind(by)": lambda w: tilt.bind(STOCK, by=w),
    "scan_parquet(source)": tilt.scan_parquet,
    "run(x)": lambda w: QUERY.run(x=w),
    "run(start)": lambda w: QUERY.run(x=STOCK, start=w),
    "run(end)": lambda w: QUERY.run(x=STOCK, end=w),
    "run(workers)": lambda w: QUERY.run(x=STOCK, workers=w),
    "run(chunk)": lambda w: QUERY.run(x=STOCK, chunk=w),
    "run(allow_sort)": lambda w: QUERY.run(x=STOCK, allow_sort=w),
    "run(progress)": lambda w: QUERY.run(x=STOCK, progress=w),
    "run(order)": lambda w: QUERY.run(x=STOCK, order=w),
    "stream(memory)": lambda w: list(QUERY.stream(x=STOCK, memory=w)),
    "stream(x)": lambda w: list(QUERY.stream(x=w)),
    "run_to(path)": lambda w: QUERY.run_to(w, x=STOCK),
    "run_to(paths)": lambda w: QUERY.run_to({"o": w}, x=STOCK),
    "explain(format)": lambda w: QUERY.explain(format=w),
    "explain(inputs)": lambda w: QUERY.explain(inputs=w),
    "result[name]": lambda w: RESULT[w],
    "points(time)": RESULT.points,
    "plot(path)": RESULT.plot,
    "plot(inputs)": lambda w: RESULT.plot(inputs=w),
    "plot(keys)": lambda w: RESULT.plot(keys=w),
    "plot(title)": lambda w: RESULT.plot(title=w),
    "mean(x)": tilt.mean,
    "sqrt(x)": tilt.sqrt,
    "is_in(options)": X[T].is_in,
    "x[t]": lambda w: X[w],
    "reduction(name)": lambda w: own(name=w),
    "reduction(type)": lambda w: own(type=w),
    "reduction(init)": lambda w: own(init=w),
    "reduction(acc)": lambda w: own(acc=w),
    "library.sma(window)": lambda w: tilt.library.sma(X, w),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_a_wrong_kind_is_no_traceback(name: str) -> None:
    """A type that is wrong for all is refused; one that suits some may be taken."""
    refused: list[str] = []
    for value in WRONG:
        try:
            ARGUMENTS[name](value)
        except tilt.TiltError as error:
            refused.append(str(error))
    assert refused
    assert all(text.encode() for text in refused)


SAYS_WHERE = tilt.QueryError, tilt.DataError
"""Errors of what a query or its data are made of: they name the place of it."""


@pytest.mark.parametrize("name", [n for n in ARGUMENTS if n != "result[name]"])
def test_an_argument_of_a_wrong_type_is_a_type_error(name: str) -> None:
    with pytest.raises((TypeError, *SAYS_WHERE)):
        ARGUMENTS[name](object())


@pytest.mark.parametrize("name", ["workers", "chunk", "start", "end", "progress"])
def test_an_option_of_a_wrong_type_is_a_type_error(name: str) -> None:
    values: tuple[object, ...] = 1.5, [], b"1"
    for value in values:
        with pytest.raises(TypeError, match=name):
            ARGUMENTS[f"run({name})"](value)
    with pytest.raises(TypeError, match="expected bytes, or a size"):
        ARGUMENTS["stream(memory)"](1.5)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tilt.parse(None), "<query>: a query is a text (str), not a NoneType"),  # type: ignore[arg-type]
        (
            lambda: tilt.parse(b"x"),  # type: ignore[arg-type]
            "<query>: a query is a text (str), not a bytes; decode it: text.decode()",
        ),
        (
            lambda: tilt.source(5, tilt.f64),  # type: ignore[arg-type]
            "name: expected a name (str), found an int",
        ),
        (
            lambda: QUERY.run(x=STOCK, progress=5),  # type: ignore[arg-type]
            "progress: expected a function of two numbers, or True",
        ),
        (lambda: tilt.load("a\0b"), "path: a\\u{0}b is not a path: it has a NUL"),
    ],
)
def test_what_is_said_of_it(make: Callable[[], object], said: str) -> None:
    with pytest.raises(tilt.TiltError) as caught:
        make()
    assert str(caught.value) == said


# What cannot be seen

HIDDEN = [
    *map(chr, range(32)), *map(chr, range(127, 160)), "\u061c", "\u200e", "\u200f",
    *map(chr, range(0x2028, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\ud800",
    "\udc80", "\udfff",
]  # fmt: skip


def test_what_a_terminal_obeys_is_escaped_and_all_else_is_not() -> None:
    for character in HIDDEN:
        assert character not in escape_text(f"a{character}b")
        kept = character in "\n\t"
        assert (character in escape_lines(f"a{character}b")) == kept
    for text in ("φ ∞ ⊕", "naïve", "日本語", "👩‍👩‍👧", "a\u00a0b", "e\u0301", "שלום"):
        assert escape_text(text) == escape_lines(text) == text
    assert escape_text("\x1b[2J\u202e\n") == "\\u{1B}[2J\\u{202E}\\n"


def has_hidden(text: str) -> bool:
    return escape_lines(text) != text


def test_no_text_that_is_shown_has_them() -> None:
    evil = "\x1b[31m\u202e\x9b"
    table = pa.table(
        {"k": [evil, "b"], "ts": pa.array([1, 2]), f"v{evil}": ["c", evil]}
    )
    text = f'input x by k : {{ "v{evil}": string }} time ts point\n~o[t] = ~x[t]'
    query = tilt.parse(text, name=evil)
    result = query.run(x=table)
    shown = [
        str(query),
        repr(query),
        query.explain(),
        query.explain(format="tree"),
        query.explain(format="json"),
        query.explain(format="dot"),
        query.explain(format="mermaid"),
        query._repr_html_(),
        repr(result),
        result._repr_html_(),
    ]
    for make in (
        lambda: tilt.parse(f"~o[t] = {evil}", name=evil),
        lambda: tilt.parse(f'input x : string\n~o[t] = "{evil}" + ~x[t]', name=evil),
        lambda: query.run(x=table.rename_columns(["k", "ts", evil])),
        lambda: result[evil],
        lambda: tilt.load(evil),
        lambda: tilt.define(evil, T, X[T]),
    ):
        with pytest.raises(tilt.TiltError) as caught:
            make()
        shown.append(str(caught.value))
    assert [text for text in shown if has_hidden(text)] == []


def test_carets_stand_under_what_is_escaped() -> None:
    with pytest.raises(tilt.QueryError) as caught:
        tilt.parse('input x : string\n~o[t] = ~x[t] == "\x1b\x1b" + ~y[t]')
    lines = str(caught.value).splitlines()
    where = lines[-1].index("^")
    assert lines[-2][where : where + 2] == "~y"


# The command

PROGRAM = "from tiltpy.cli.main import main; raise SystemExit(main())"


def tilt_run(
    *words: str, folder: Path, **env: str
) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(  # noqa: S603
        command, capture_output=True, cwd=folder, env=os.environ | env, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.tilt").write_text("input x : f64\n~o[t] = ~x[t] > 0 ? ~x[t] : φ")
    return tmp_path


def test_a_terminal_that_knows_ascii_alone(folder: Path) -> None:
    done = tilt_run("explain", "q.tilt", folder=folder, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u03c6" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="it closes descriptors with a shell")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("explain q.tilt >&-", 0),
        ("check q.tilt >&- 2>&-", 0),
        ("check none.tilt 2>&-", 2),
        ("check - <&-", 2),
        ("explain q.tilt | head -1 > /dev/null", 0),
    ],
)
def test_streams_that_are_closed(folder: Path, words: str, code: int) -> None:
    (folder / "tilt.py").write_text(PROGRAM)
    done = subprocess.run(  # noqa: S602
        f"'{sys.executable}' tilt.py {words}", shell=True, cwd=folder,
        capture_output=True, check=False, env=os.environ | {"PYTHONPATH": os.getcwd()},  # noqa: PTH109
    )  # fmt: skip
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("path", ["a\udc80b.tilt", "a\x1b[31mb.tilt", "a" * 300])
def test_paths_that_are_none(folder: Path, path: str) -> None:
    done = tilt_run("check", path, folder=folder)
    assert done.returncode == 2
    assert b"not readable" in done.stderr
    assert b"\x1b" not in done.stderr
    assert b"Traceback" not in done.stderr
