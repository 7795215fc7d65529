"""A query just below a limit compiles, and one just above it is refused.

Resources are tested too: what is far beyond is refused within 256 MB, in a process of
its own that can have no more.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import pyarrow as pa
import pytest

import tiltpy as tilt
from tests import ROOT
from tests.plain import listed, steps
from tiltpy import limits
from tiltpy.costs import Costs
from tiltpy.passes.fuse_operators import fuse_operators

README = ROOT / "docs" / "language" / "index.md"
HEAD = "input x : f64\n"


@dataclass(frozen=True)
class Breadth:
    """A query of any breadth, the widest that is taken, and what is said of wider."""

    text: Callable[[int], str]
    most: int
    message: str
    code: str = "E0304"


def lines(line: str) -> Callable[[int], str]:
    """A line for each number in `#`, and a definition."""
    one = HEAD + "~o[t] = ~x[t]\noutput ~o\n"
    return lambda n: one + "\n".join(line.replace("#", str(i)) for i in range(n))


def joined(text: str, part: str, sign: str = ", ") -> Callable[[int], str]:
    """A text with many parts in the place of `@`, numbered where they have a `#`."""

    def written(n: int) -> str:
        parts = (part.replace("#", str(i)) for i in range(n))
        return text.replace("@", sign.join(parts))

    return written


def definitions(n: int) -> str:
    return HEAD + "".join(f"~d{i}[t] = ~x[t]\n" for i in range(n)) + "output ~d0"


def halves(n: int) -> str:
    """A sum of so many terms in brackets, no deeper than it must be."""
    return "~x[t]" if n == 1 else f"({halves(n // 2)} + {halves(n - n // 2)})"


STRINGS = "input x : string\n"
CASES = {
    "bytes": Breadth(
        f"{HEAD}~o[t] = ~x[t]".ljust,
        limits.MAX_TEXT,
        "more than 1,048,576 bytes of text",
    ),
    "tokens": Breadth(
        lambda n: "\n".join(
            [*(f"~o{i}[t] = ~x[t]{'+ ~x[t]' * 12}" for i in range(n)), HEAD]
        ),
        602,
        "the text has more than 50,000 words, numbers and signs",
    ),
    "inputs": Breadth(lines("input i# : f64"), 999, "more than 1,000 inputs"),
    "parameters": Breadth(
        lines("param p# : i64 = #"), 1000, "more than 1,000 parameters"
    ),
    "time domains": Breadth(
        lines("t# = TDom(-∞, ∞, 1)"), 1000, "more than 1,000 time domains"
    ),
    "functions": Breadth(lines("def own#(v) = v"), 1000, "more than 1,000 functions"),
    "reductions": Breadth(
        lines("reduction r#(v: f64) { init = 0.0 acc = state + v result = state }"),
        1000,
        "more than 1,000 reductions",
    ),
    "definitions": Breadth(definitions, 1000, "more than 1,000 definitions"),
    "definitions in functions": Breadth(
        joined(
            HEAD + "def f(~v, n) = { ~a[t] = ~v[t] + n; ~b[t] = ~a[t-1] * n; "
            "return ~b[t] }\n@",
            "~o#[t] = f(~x, #.5)",
            "\n",
        ),
        666,
        "more than 2,000 definitions, those in functions included",
    ),
    "fields of an input": Breadth(
        joined("input x : { @ }\n~o[t] = ~x[t].f0", "f#: f64"),
        2000,
        "more than 2,000 fields of a struct",
    ),
    "fields": Breadth(
        joined(HEAD + "~o[t] = { @ }", "f# = #"),
        2000,
        "more than 2,000 fields of a struct",
    ),
    "keys": Breadth(
        joined("input x by @ : f64\n~o[t] = ~x[t]", "k#"),
        64,
        "more than 64 columns of a key",
    ),
    "order": Breadth(
        joined("input x : f64 order @\n~o[t] = ~x[t]", "k#"),
        64,
        "more than 64 columns in `order`",
    ),
    "parameters of a function": Breadth(
        joined(HEAD + "def f(@) = a0\n~o[t] = f(~x[t])", "a# = 1"),
        100,
        "more than 100 parameters of a function",
    ),
    "options": Breadth(
        joined(HEAD + "~o[t] = ~x[t] in (@)", "#"),
        10_000,
        "more than 10,000 options of one `in`",
    ),
    "depth": Breadth(
        joined(HEAD + "~o[t] = @", "~x[t]", "+"),
        200,
        "nested deeper than 200 levels",
        "E0301",
    ),
    "calls": Breadth(
        lambda n: (
            HEAD
            + "def one(v) = v\ndef ten(v) = "
            + "one(" * 9
            + "v"
            + ")" * 9
            + "\n"
            + "".join(f"~o{i}[t] = ten(~x[t])\n" for i in range(n))
        ),
        500,
        "the functions of this query are called more than 5,000 times",
        "E0303",
    ),
    "parts": Breadth(
        lambda n: (
            HEAD
            + f"def f(~x) = {halves(500)}\n"
            + "".join(f"~o{i}[t] = f(~x)\n" for i in range(n))
        ),
        33,
        "this query has more than 50,000 parts, with its functions expanded",
        "E0303",
    ),
    "element": Breadth(
        lambda n: (
            HEAD
            + "def twice(v) = v + v\n~o[t] = sum("
            + "twice(" * n
            + "~x[t-3:t]"
            + ")" * n
            + ")"
        ),
        12,
        "expanded, this has more than 10,000 parts",
        "E0303",
    ),
    "name": Breadth(
        lambda n: f"input {'x' * n} : f64\n~o[t] = ~{'x' * n}[t]",
        1000,
        "more than 1,000 characters of a name",
    ),
    "string": Breadth(
        lambda n: f'{STRINGS}~o[t] = ~x[t] == "{"s" * n}"',
        100_000,
        "more than 100,000 characters of a string",
    ),
    "digits": Breadth(
        lambda n: f"{HEAD}~o[t] = ~x[t - {'0' * (n - 1)}1s]",
        100,
        "a duration of this many digits is out of range",
        "E0302",
    ),
}


@pytest.mark.few(11)
@pytest.mark.parametrize("name", CASES)
def test_just_below_a_limit_a_query_compiles(name: str) -> None:
    case = CASES[name]
    assert tilt.parse(case.text(case.most)).query.outputs


@pytest.mark.parametrize("name", CASES)
def test_just_above_it_is_refused_by_name(name: str) -> None:
    case = CASES[name]
    with pytest.raises(tilt.QueryError) as caught:
        tilt.parse(case.text(case.most + 1))
    assert (caught.value.code, caught.value.message) == (case.code, case.message)
    assert caught.value.hint or case.code == "E0302"
    assert len(str(caught.value)) < 5000


def test_the_operations_of_a_query_are_limited_when_it_runs() -> None:
    fields = ", ".join(f"f{i}: i64" for i in range(100))
    rows = {"start": [0], "end": [1], **{f"f{i}": [i] for i in range(100)}}

    def run(outputs: int) -> tilt.Result:
        each = "".join(f"~o{i}[t] = ~x[t]\n" for i in range(outputs))
        head = f"input x : {{ {fields} }} interval (start, end)\n"
        return tilt.parse(head + each).run(x=pa.table(rows))

    assert run(2)["o1"].to_arrow().to_pylist() == pa.table(rows).to_pylist()
    with pytest.raises(tilt.QueryError) as caught:
        run(100)
    assert caught.value.code == "E0304"
    assert caught.value.message == "up to ~o55 the query is more than 50,000 operations"


def chain(outputs: int, links: int) -> str:
    """Outputs over one chain of definitions, which is fused into each."""
    steps = "".join(f"~c{i + 1}[t] = ~c{i}[t] * 2.0 + {i}.0\n" for i in range(links))
    ends = "".join(f"~o{i}[t] = ~c{links}[t] + {i}.0\n" for i in range(outputs))
    named = ", ".join(f"o{i}" for i in range(outputs))
    return f"{HEAD}~c0[t] = ~x[t]\n{steps}{ends}output {named}"


def test_what_fusion_makes_too_large_is_refused_while_it_does() -> None:
    """Not after all of it is made: 600 outputs take as long as 130."""
    message = "up to ~o122 the query is more than 50,000 operations"
    for outputs in (130, 600):
        query = tilt.parse(chain(outputs, 97)).query
        with pytest.raises(tilt.QueryError) as caught:
            fuse_operators(query)
        assert (caught.value.code, caught.value.message) == ("E0304", message)


def test_a_wide_query_gives_what_narrow_ones_do(
    deep: bool,
) -> None:
    """LLVM takes another way for a long function, and its code does the same."""
    width, costs = (1000, Costs()) if deep else (20, Costs(optimized_lines=100))
    text = HEAD + "".join(
        f"~o{i}[t] = mean(~x[t-{i % 7 + 1}:t]) + {i}\n" for i in range(width)
    )
    frame = steps([i / 8 for i in range(20)])
    options = tilt.CompileOptions(cache=False, costs=costs)
    result = tilt.parse(text, options=options).run(x=frame)
    for i in (0, 1, width // 2, width - 1):
        alone = tilt.parse(f"{HEAD}~o[t] = mean(~x[t-{i % 7 + 1}:t]) + {i}")
        assert listed(result[f"o{i}"]) == listed(alone.run(x=frame))


def test_a_text_says_its_first_hundred_errors() -> None:
    for line in ("~o#[t] = ~y#[t]", "~o#[t] = )", "~o#[t] = { a = no#, b = no_# }"):
        with pytest.raises(tilt.QueryError) as caught:
            tilt.parse(joined(HEAD + "@", line, "\n")(300))
        assert len(caught.value.errors) == limits.MAX_ERRORS  # type: ignore[attr-defined]
        assert str(caught.value).endswith("these are the first 100 errors")


def test_the_reference_lists_every_limit() -> None:
    section = README.read_text().partition("## Limits\n")[2].partition("\n## ")[0]
    said = {int(found.replace(",", "")) for found in re.findall(r"[\d,]*\d", section)}
    known = {
        value
        for name, value in vars(limits).items()
        if name.startswith("MAX_") and name != "MAX_FUSED"  # which refuses nothing
    }
    assert known <= said


# Queries in Python


def test_python_has_the_same_limits() -> None:
    x, t = tilt.source("x", tilt.f64), tilt.TDom()
    wide = {f"f{i}": i for i in range(2001)}
    cases: dict[str, Callable[[], object]] = {
        "more than 2,000 fields of a struct": lambda: tilt.struct(**wide),
        "more than 10,000 options of one `in`": lambda: x[t].is_in(count()),
        "more than 100,000 characters of a string": lambda: x[t] == "s" * 100_001,
        "more than 1,000 characters of a name": lambda: x[t].field("n" * 1001),
        "U+DC80 is half a character (a lone surrogate)": lambda: x[t] == "\udc80",
    }
    for message, make in cases.items():
        with pytest.raises(tilt.QueryError) as caught:
            tilt.compile(tilt.define("o", t, make()))  # type: ignore[arg-type]
        assert caught.value.message == message
    many = [tilt.define(f"o{i}", t, x[t]) for i in range(1001)]
    with pytest.raises(tilt.QueryError, match="more than 1,000 definitions"):
        tilt.compile(*many)
    with pytest.raises(tilt.QueryError, match="more than 1,000 characters of a name"):
        tilt.compile(tilt.define("o" * 1001, t, x[t]))


# Bombs

BOMBS = {
    "one line": 'HEAD + "~o[t] = ~x[t]" + "+1" * 150_000',
    "ten megabytes of terms": 'HEAD + "~o[t] = ~x[t]" + "+1" * 5_000_000',
    "statements": '"~o[t] = ~x[t]\\n" * 700_000',
    "a string": "HEAD + '~o[t] = ~x[t] == \"' + 'a' * 10**7 + '\"'",
    "an open string": "HEAD + '~o[t] = ~x[t] == \"' + 'a' * 10**7",
    "a string of a megabyte": "HEAD + '~o[t] = ~x[t] == \"' + 'a' * 10**6 + '\"'",
    "escapes": "HEAD + '~o[t] = ~x[t] == \"' + '\\\\n' * 500_000 + '\"'",
    "a number": 'HEAD + "~o[t] = ~x[t] + " + "1" * 10**7',
    "a number of a megabyte": 'HEAD + "~o[t] = ~x[t] + " + "1" * 10**6',
    "an exponent": 'HEAD + "~o[t] = ~x[t] + 1e999999999"',
    "a long exponent": 'HEAD + "~o[t] = ~x[t] + 1e" + "9" * 10**6',
    "a duration": 'HEAD + "~o[t] = ~x[t - " + "9" * 10**6 + "s]"',
    "parts of a duration": 'HEAD + "~o[t] = ~x[t - " + "9d" * 500_000 + "]"',
    "brackets": 'HEAD + "~o[t] = " + "(" * 10**7',
    "fewer brackets": 'HEAD + "~o[t] = " + "(" * 49_000',
    "minus": 'HEAD + "~o[t] = " + "-" * 49_000 + "~x[t]"',
    "comments": '"# nothing\\n" * 10**6',
    "blanks": 'HEAD + "\\n" * 10**7',
    "a line of garbage": '"%&/()=" * 8_000',
    "lines of garbage": '")\\n" * 40_000',
    "options": 'HEAD + f"~o[t] = ~x[t] in ({list(range(100_000))})"',
    "fields": '"input x : {" + ", ".join(f"f{i}: f64" for i in range(10**5)) + "}"',
    "a name": 'HEAD + "~o[t] = ~" + "y" * 10**6 + "[t]"',
    "many unknown names": '"\\n".join(f"~o{i}[t] = ~y{i}[t]" for i in range(1000))',
    "functions that double": 'HEAD + "def d0(v) = v + 1\\n" + "".join('
    'f"def d{i}(v) = d{i-1}(d{i-1}(v))\\n" for i in range(1, 60)) '
    '+ "~o[t] = d59(~x[t])"',
    "functions with large bodies": 'HEAD + "def f(v) = max(" * 1 + "v, "  + "v" + ")"'
    ' + "\\n" + "\\n".join(f"def g{i}(v) = {{ a = {'
    "'+'.join(['f(v)'] * 20)"
    '} return g{i - 1}(a) + g{i - 1}(v) }}" for i in range(1, 40))'
    ' + "\\ndef g0(v) = v\\n~o[t] = g39(~x[t])"',
    "elements that double": 'HEAD + "def d(v) = v + v\\n~o[t] = sum(" + "d(" * 60'
    ' + "~x[t-1:t]" + ")" * 60 + ")"',
}
RUN = """
import resource, sys, tiltpy as tilt
from tiltpy.frontend.text.grammar import parser
HEAD = "input x : f64\\n"
tilt.parse(HEAD + "~o[t] = sum(~x[t-3:t])")
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
most = now + 256 * 2**20
texts = {name: make for name, make in BOMBS.items()}
for name, make in texts.items():
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    text = eval(make)
    resource.setrlimit(resource.RLIMIT_AS, (most + 2 * len(text), -1))
    try:
        tilt.parse(text)
        print(name, "was taken")
    except tilt.QueryError as error:
        if len(str(error)) > 200_000:
            print(name, "says too much")
    except BaseException as error:
        print(name, "ended in", type(error).__name__, error)
    del text
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it asks Linux for its memory")
def test_bombs_are_refused_within_256_megabytes() -> None:
    program = f"BOMBS = {BOMBS!r}\n{RUN}"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
