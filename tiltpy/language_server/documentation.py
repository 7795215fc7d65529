"""Documentation of what is built in, for editors: a form and a sentence or two.

Functions and reductions have theirs in `ops.py`, those of the library in the comments
of `grammar/std.tilt`, lifetimes in `lifetimes.py`; the rest is here.
"""

import re
from functools import cache

from tiltpy.frontend.elaboration.library import library_function, library_functions
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import split_active
from tiltpy.lean_dataclass import dataclass
from tiltpy.lifetimes import LIFETIMES
from tiltpy.ops import (
    CONVOLVE,
    DATE_COMPONENTS,
    FUNCTIONS,
    PAIRS,
    QUANTILE_METHODS,
    REDUCTIONS,
    STRING_FUNCTIONS,
    STRING_TESTS,
    ReductionRule,
)
from tiltpy.source import Source
from tiltpy.types import NAMED

_COMMENT_LINES = re.compile(r"(?:^[ \t]*#[^\n]*\n)+\Z", re.MULTILINE)
_WINDOW = "~x[t-d : t]"


@dataclass(frozen=True, slots=True)
class Documentation:
    """The form of a construct, and what it does."""

    form: str
    text: str


WORDS = {
    "unit": Documentation(
        "unit s",
        "The tick: ns, us, ms, s, m, h or d. Without it, the unit of the finest "
        "duration in the text.",
    ),
    "param": Documentation(
        "param w : duration = 10s",
        "A constant that a run may set. It may use the parameters above it.",
    ),
    "input": Documentation(
        "input stock by symbol : { price: f64, size: i64 } time ts until_next",
        "An input: its keys, the type of its values, its time column, its lifetime "
        "and its tie order.",
    ),
    "output": Documentation(
        "output ~x, ~y",
        "The outputs, a table each. Without it, every object that no other uses.",
    ),
    "def": Documentation("def f(~x, w = 10s) = ...", "A function, written out here."),
    "reduction": Documentation(
        "reduction r(v: f64) { init = ... acc = ... merge = ... result = ... }",
        "A user-defined reduction: a state, and how each element changes it.",
    ),
    "return": Documentation("{ a = ... return a }", "The value of a block."),
    "for": Documentation(
        "sum(p * s for { price: p, size: s } in ~x[t-d : t] if s > 0)",
        "Names for the elements of a window, and a condition that selects some.",
    ),
    "with": Documentation(
        "~x[t] with { size = 0 }", "A copy of a struct with some fields changed."
    ),
    "distinct": Documentation(
        "distinct ~x[t] = ...",
        "A timeline: snapshots that touch and have identical values are one.",
    ),
    "by": Documentation(
        "input q by symbol : f64", "The key columns: each key has an object."
    ),
    "time": Documentation("input q : f64 time ts", "The column of times."),
    "order": Documentation(
        "input q : f64 order seq", "The columns that order rows of one time."
    ),
    "max": Documentation("until_next max 1d", "The longest that a row holds."),
    "since": Documentation(
        "~x[since ~c : t]",
        "What overlaps the time since the last start of a true snapshot of ~c.",
    ),
    "after": Documentation(
        "~x[after ~c : t]", "What starts after the last start of a true ~c."
    ),
    "last": Documentation(
        "~x[last 20 : t]   ~x[last : t]",
        "The last rows of a window; or the snapshot of the greatest stamp up to t.",
    ),
    "next": Documentation("~x[t : next]", "The snapshot of the least stamp from t on."),
    "nearest": Documentation("~x[nearest t]", "The snapshot of the closest stamp."),
    "within": Documentation(
        "~x[last : t within 5s]", "How far a window or an as-of look reaches at most."
    ),
    "row": Documentation(
        "~x[-∞ : row e]", "The window ends with the row itself, in tie order."
    ),
    "left": Documentation("TDom(-∞, ∞, 1d, left)", "Cells [g, g+p), not (g-p, g]."),
    "cells": Documentation(
        "TDom(cells of ~shift)", "The intervals of an input as cells of a domain."
    ),
    "if": Documentation(
        "sum(v for v in ~x[t-d : t] if v > 0)",
        "The elements that count. Elsewhere a condition is `c ? a : b`.",
    ),
    "in": Documentation("x in (1, 2)", "Whether a value is one of several constants."),
    "true": Documentation("true", "The bool."),
    "false": Documentation("false", "The bool."),
    "φ": Documentation(
        "φ", "No value, where an object has a gap; in ASCII `phi`. `x != φ` tests it."
    ),
    "∞": Documentation("∞", "Infinity: a float, or no bound of time; in ASCII `inf`."),
    "nan": Documentation("nan", "The float that is no number, which is a value."),
}
"""Keywords, words with a meaning in one place, and constants."""
SPELLINGS = {"phi": "φ", "inf": "∞"}
"""Words in ASCII for constants."""
_CALLEES = {
    "exists": Documentation("exists(x)", "Whether a value is not φ: `x != φ`."),
    "start": Documentation(
        "start(~x[t])", "Where the event or snapshot starts, in ticks (exclusive)."
    ),
    "end": Documentation(
        "end(~x[t])", "Where the event or snapshot ends, in ticks (inclusive)."
    ),
    "TDom": Documentation(
        "TDom(start, end, precision, offset, left)",
        "A time domain: an object over it has a value for each cell of its grid. An "
        "unknown name as a bound is one that a run is given.",
    ),
    "Rows": Documentation(
        "Rows(~x, null)",
        "A domain whose points are the rows of an input; with `null` it keeps those "
        "where a result is φ.",
    ),
    "calendar": Documentation(
        'calendar(1mo, "Europe/Berlin")',
        "Days, weeks, months, quarters or years as the cells of a time domain.",
    ),
    CONVOLVE: Documentation(
        f"{CONVOLVE}({_WINDOW}, [0.5, 0.3, 0.2])",
        "The weighted sum of a window's samples; the first weight is the newest's.",
    ),
    "reduce": Documentation(
        f"⊕(sum, {_WINDOW})", "A reduction of a window; `sum(...)` is the same."
    ),
}


def describe_word(word: str) -> Documentation | None:
    """Describe a keyword, a constant, a lifetime or a type."""
    word = SPELLINGS.get(word, word)
    if word in LIFETIMES:
        kind = LIFETIMES[word]
        lengths = ("d",) * kind.clause.count("{}")
        form = kind.keyword + kind.clause.format(*(kind.letters or lengths))
        return Documentation(form, " ".join((kind.__doc__ or "").split()))
    if word in NAMED and word != "time":
        return Documentation(word, _describe_type(word))
    return WORDS.get(word)


def describe_callee(name: str) -> Documentation | None:
    """Describe what a call without a definition in the text calls, if it is known."""
    reduction, active = split_active(name)
    if name in FUNCTIONS:
        rule = FUNCTIONS[name]
        form = f"{name}({', '.join(rule.parameters)})"
        if name in REDUCTIONS:
            return Documentation(f"{name}({_WINDOW})   {form}", REDUCTIONS[name].doc)
        return Documentation(form, rule.doc)
    if reduction in REDUCTIONS:
        return _describe_reduction(REDUCTIONS[reduction], active=active)
    if name in PAIRS:
        pair = PAIRS[name]
        arguments = ", ".join(f"~x[t-d : t].{each}" for each in pair.parameters)
        return Documentation(f"{name}({arguments})", pair.doc)
    for test, doc in STRING_TESTS.items():
        if name == test:
            return Documentation(f'{name}(s, "...")', doc)
    for function, (parameters, doc) in STRING_FUNCTIONS.items():
        if name == function:
            return Documentation(f"{name}({_drop_types(parameters)})", doc)
    for component, doc in DATE_COMPONENTS.items():
        if name == component:
            return Documentation(f'{name}(time, "Europe/Berlin")', f"{doc} As i64.")
    if name in NAMED:
        return Documentation(f"{name}(x)", f"{_describe_type(name)} A cast of a value.")
    return _CALLEES.get("reduce" if name == "⊕" else name) or _describe_library(name)


@cache
def callees() -> tuple[str, ...]:
    """List what every text can call."""
    names = [*FUNCTIONS, *REDUCTIONS, *(f"{each}_active" for each in REDUCTIONS)]
    names += [*PAIRS, *STRING_TESTS, *STRING_FUNCTIONS, *DATE_COMPONENTS, *NAMED]
    names += [name for name in _CALLEES if name != "reduce"]
    names += [function.name.text for function in library_functions()]
    return tuple(dict.fromkeys(names))


def comment_above(source: Source, offset: int) -> str:
    """Read the comment right above the line of a character, without its `#`."""
    line, _ = source.position(offset)
    match = _COMMENT_LINES.search(source.text[: source.line_starts[line - 1]])
    lines = match[0].splitlines() if match else []
    return "\n".join(each.strip().removeprefix("#").strip() for each in lines)


def format_signature(function: syntax.FunctionDefinition) -> str:
    """Format the head of a function, as its definition has it."""
    parameters = []
    for each in function.parameters:
        name = f"~{each.name.text}" if each.object else each.name.text
        if each.default is not None:
            span = each.default.span
            name += f" = {span.source.text[span.start : span.end]}"
        parameters.append(name)
    return f"{function.name.text}({', '.join(parameters)})"


def _describe_library(name: str) -> Documentation | None:
    function = library_function(name)
    if function is None:
        return None
    span = function.name.span
    comment = comment_above(span.source, span.start)
    return Documentation(format_signature(function), comment)


def _describe_reduction(rule: ReductionRule, *, active: bool) -> Documentation:
    arguments = ["~x[t]" if active else _WINDOW]
    arguments += [rule.parameter] if rule.parameter else []
    arguments += ["ddof=0"] if rule.ddof else []
    arguments += [f'method="{QUANTILE_METHODS[0]}"'] if rule.parameter == "q" else []
    name = f"{rule.name}_active" if active else rule.name
    doc = rule.active_doc if active else rule.doc
    return Documentation(f"{name}({', '.join(arguments)})", doc)


def _describe_type(name: str) -> str:
    scalar = NAMED[name]
    match scalar.kind:
        case "int":
            return f"A signed integer of {scalar.bits} bits."
        case "uint":
            return f"An unsigned integer of {scalar.bits} bits."
        case "float":
            return f"A float of {scalar.bits} bits."
        case "time":
            return "A time: ticks since 1970."
        case "duration":
            return "A length of time, in ticks."
        case "string":
            return "A string."
        case _:
            return "A bool: true or false."


def _drop_types(parameters: str) -> str:
    """Leave Python's types out of a list of parameters."""
    names = (each.partition(":") for each in parameters.split(", "))
    return ", ".join(
        name.lstrip("*") + ("..." if name.startswith("*") else "")
        for name, _, _ in names
    )
