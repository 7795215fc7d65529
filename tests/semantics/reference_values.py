"""Values and rows as the language reference writes them.

A value is written as in a query: `10`, `2.5`, `nan`, `true`, `φ`, `"text"`, `10s`,
`{ price = 2.5, size = φ }`; rows are `10 over (0, 1], 20 over (1, 2]`, or by their
stamps `10 at 1, 20 at 3`. `φ` alone is no row at all. The key of a row stands behind
it, `10 at 1 of "a"`; in parentheses if it is of several columns, `10 at 1 of ("a", 2)`.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tiltpy.interpreter.evaluate import FOREVER, Event, LastEvent, Value
from tiltpy.interpreter.keys import Key, key_order
from tiltpy.ir.nodes import Input
from tiltpy.lifetimes import (
    FixedDuration,
    Interval,
    Lifetime,
    Point,
    Sampled,
    UntilNext,
)
from tiltpy.types import DURATION, F32, Scalar, Struct, Type

_TOKEN = re.compile(
    r'\s*(\(|\)|\]|\{|\}|,|=|"(?:[^"\\]|\\.)*"|-?inf\b|-?[0-9][\w.+-]*|[^\W\d]\w*|-)'
)
_WORDS = {
    "true": True,
    "false": False,
    "φ": None,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A value and its times: the stamp as `end` alone, or an interval."""

    value: Value | None
    start: int | None
    end: int
    key: Key = ()


def read_rows(text: str) -> list[Row]:
    """Rows as they are written, in order."""
    reader = _Reader(text)
    if text.strip() == "φ":
        return []
    rows = [reader.row()]
    while reader.tokens:
        reader.take(",")
        rows.append(reader.row())
    return rows


def read_value(text: str) -> Value | None:
    """A value as it is written."""
    reader = _Reader(text)
    value = reader.value()
    assert not reader.tokens, text
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text.rstrip())
        assert "".join(self.tokens) == re.sub(
            r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text
        )

    def take(self, *wanted: str) -> str:
        found: str = self.tokens.pop(0)
        assert not wanted or found in wanted, (found, wanted)
        return found

    def row(self) -> Row:
        row = self.unkeyed()
        if self.tokens[:1] != ["of"]:
            return row
        self.take("of")
        return replace(row, key=self.key())

    def key(self) -> Key:
        if self.tokens[0] != "(":
            return (self.value(),)
        self.take("(")
        found = [self.value()]
        while self.take(",", ")") == ",":
            found.append(self.value())
        return tuple(found)

    def unkeyed(self) -> Row:
        value = self.value()
        if self.take("at", "over") == "at":
            return Row(value, None, int(self.take()))
        self.take("(")
        start = int(self.take())
        self.take(",")
        end = int(self.take())
        self.take("]")
        return Row(value, start, end)

    def value(self) -> Value | None:
        word = self.take()
        if word == "{":
            return self.fields()
        if word in _WORDS:
            return _WORDS[word]
        if word.startswith('"'):
            text: Value = json.loads(word)
            return text
        if re.fullmatch(r"-?\d+s", word):
            return int(word[:-1])
        return float(word) if re.search(r"[.e]", word) else int(word)

    def fields(self) -> Value:
        found: dict[str, Value | None] = {}
        while True:
            name = self.take().strip('"')
            self.take("=")
            found[name] = self.value()
            if self.take(",", "}") == "}":
                return found


def write_value(value: object, type: Type) -> str:
    """A result as the reference writes it."""
    match value, type:
        case None, _:
            return "φ"
        case bool(), _:
            return str(value).lower()
        case float(), Scalar() if type == F32:
            return str(np.float32(value))
        case dict(), Struct(fields):
            inner = (f"{name} = {write_value(value[name], of)}" for name, of in fields)
            return "{ " + ", ".join(inner) + " }"
        case int(), Scalar() if type == DURATION:
            return f"{value}s"
        case str(), _:
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def by_key(rows: list[Row]) -> dict[Key, list[Row]]:
    """The rows of each key, in the order of the keys."""
    keys = sorted({row.key for row in rows}, key=key_order)
    return {key: [row for row in rows if row.key == key] for key in keys}


def events_of(rows: list[Row], declared: Input) -> list[Event]:
    """The events that rows become, as the reference says of each lifetime."""
    stamps = sorted({row.end for row in rows})

    def place(event: Event) -> tuple[object, ...]:
        fields = event.value if isinstance(event.value, Mapping) else {}
        return event.start, *(fields[column] for column in declared.order)

    found = []
    for row in rows:
        start, end = _span(row, declared.lifetime, stamps)
        last = isinstance(declared.lifetime, UntilNext) and row.end == stamps[-1]
        if row.value is not None:
            found.append((LastEvent if last else Event)(start, end, row.value))
    return sorted(found, key=place)


def _span(row: Row, lifetime: Lifetime | None, stamps: list[int]) -> tuple[int, int]:
    if row.start is not None:
        assert lifetime is None or isinstance(lifetime, Interval)
        return row.start, row.end
    stamp = row.end
    match lifetime:
        case FixedDuration(ticks):
            return stamp - 1, stamp - 1 + ticks
        case UntilNext(longest):
            later = [other - 1 for other in stamps if other > stamp]
            end = later[0] if later else FOREVER
            return stamp - 1, end if longest is None else min(end, stamp - 1 + longest)
        case Sampled(period):
            return stamp - period, stamp
        case Point():
            return stamp - 1, stamp
        case _:
            raise AssertionError(f"no stamps for {lifetime}")
