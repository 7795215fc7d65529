"""Frozen dataclasses as bytes, and back: plain data, which make nothing else.

A codec is made for a type. The classes that its annotations lead to are all that
decoding can build, and each field is checked against its annotation: bytes that were
tampered with decode to a value of that type or to none, and execute nothing.

    [[["Scalar","f64","float",64],["At","x",0,0],["Cast",1,0]],2]

Each object is a row of its class and its fields, where an earlier object stands as its
number; the value itself is last. So what is shared stays shared, and nothing is too
deep to be decoded. Spans take no part in equality: a row has one behind its fields if
spans are asked for, else the object has the default again.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from tiltpy.source import UNKNOWN, Span

T = TypeVar("T")
Plain = Any
"""A value of JSON: None, a bool, a number, a string, a list or a dict."""
Read = Callable[[Plain, list[object]], object]
"""Reads the value of an annotation from JSON, with the objects before it."""
PLAIN = (NoneType, bool, int, float, str)


class MalformedError(ValueError):
    """Bytes that encode no value of the type."""


class Codec(Generic[T]):
    """Encodes the values of a type as bytes, and decodes them."""

    def __init__(self, kind: object) -> None:
        self._read = _reader(kind)
        self._rows = {made.__name__: _row_reader(made) for made in classes(kind)}

    def encode(self, value: T, *, spans: bool = False) -> bytes:
        """Encode a value; `RecursionError` if it is too deep."""
        encoder = _Encoder(spans=spans)
        plain = encoder.plain(value)
        text = json.dumps([encoder.rows, plain], separators=(",", ":"))
        return text.encode("ascii")

    def decode(self, content: bytes) -> T:
        """Decode a value; `MalformedError` if the bytes encode none."""
        try:
            whole = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise MalformedError from error
        objects: list[object] = []
        rows, value = _list(whole, 2)
        for row in _list(rows):
            objects.append(self._object(_list(row), objects))
        decoded: T = self._read(value, objects)  # type: ignore[assignment]
        return decoded

    def _object(self, row: list[Plain], objects: list[object]) -> object:
        name = row[0] if row else None
        if type(name) is not str or name not in self._rows:
            raise MalformedError
        return self._rows[name](row, objects)


def classes(kind: object) -> tuple[type[Any], ...]:
    """Collect the dataclasses that an annotation leads to; their names differ."""
    classes: dict[type[Any], None] = {}
    pending = [kind]
    while pending:
        hint = pending.pop()
        if isinstance(hint, type) and is_dataclass(hint) and hint not in classes:
            classes[hint] = None
            pending += stored_fields(hint).values()
            pending += [Span] if has_span(hint) else []
        pending += get_args(hint)
    assert len({made.__name__ for made in classes}) == len(classes), "two of one name"
    return tuple(classes)


@cache
def stored_fields(made: Any) -> dict[str, Any]:
    """Collect the types of the fields that take part in equality; the others follow."""
    hints = get_type_hints(made)
    initial = [field for field in fields(made) if field.init]
    stored = {field.name: hints[field.name] for field in initial if field.compare}
    rest = initial[len(stored) :]
    assert not any(field.compare or field.default is MISSING for field in rest), made
    return stored


def has_span(made: Any) -> bool:
    """Tell whether objects of a class know their place in a text."""
    return any(field.name == "span" and field.init for field in fields(made))


class _Encoder:
    """The rows of the objects met so far, each once."""

    def __init__(self, *, spans: bool) -> None:
        self.rows: list[list[Plain]] = []
        self._spans = spans
        self._numbers: dict[int, int] = {}

    def plain(self, value: Any) -> Plain:
        """Convert a value to JSON."""
        match value:
            case Enum():
                return value.value
            case tuple():
                return [self.plain(item) for item in value]
            case dict():
                return {name: self.plain(item) for name, item in value.items()}
            case bytes():
                return b64encode(value).decode("ascii")
            case None | bool() | int() | float() | str():
                return value
            case _:
                return self._number(value)

    def _number(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            made: Any = type(value)
            row = [self.plain(getattr(value, name)) for name in stored_fields(made)]
            if self._spans and has_span(made) and value.span != UNKNOWN:
                row.append(self.plain(value.span))
            number = self._numbers[id(value)] = len(self.rows)
            self.rows.append([made.__name__, *row])
        return number


def _row_reader(made: Any) -> Callable[[list[Plain], list[object]], object]:
    readers = [_reader(kind) for kind in stored_fields(made).values()]
    read_span = _reader(Span) if has_span(made) else None

    def read(row: list[Plain], objects: list[object]) -> object:
        values = row[1 : len(readers) + 1]
        if len(values) < len(readers):
            raise MalformedError
        fields = [
            reader(value, objects)
            for reader, value in zip(readers, values, strict=True)
        ]
        match row[len(readers) + 1 :]:
            case []:
                return made(*fields)
            case [span] if read_span is not None:
                return made(*fields, span=read_span(span, objects))
            case _:
                return _refuse()

    return read


@cache
def _reader(kind: Any) -> Read:
    """Make the reader of an annotation's values."""
    if kind is bytes:
        return _bytes
    if get_origin(kind) is tuple:
        return _tuple_reader(get_args(kind))
    if get_origin(kind) is dict:
        return _dict_reader(*get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice_reader({member.value: member for member in kind})
    if get_origin(kind) is Literal:
        return _choice_reader({choice: choice for choice in get_args(kind)})
    return _union_reader(_alternatives(kind))


def _alternatives(kind: object) -> tuple[Any, ...]:
    if get_origin(kind) in (Union, UnionType):
        return tuple(inner for hint in get_args(kind) for inner in _alternatives(hint))
    return (kind,)


def _union_reader(kinds: tuple[Any, ...]) -> Read:
    """Read plain values, or objects of some classes; or None and what is no union."""
    plain = frozenset(kind for kind in kinds if kind in PLAIN)
    rest = tuple(kind for kind in kinds if kind not in PLAIN)
    if not rest:
        return lambda value, _: value if type(value) in plain else _refuse()
    if not all(isinstance(kind, type) and is_dataclass(kind) for kind in rest):
        (only,) = rest
        assert plain == {NoneType}, kinds
        inner = _reader(only)
        return lambda value, objects: None if value is None else inner(value, objects)
    assert plain <= {NoneType}, kinds
    made, optional = frozenset(rest), bool(plain)

    def read(value: Plain, objects: list[object]) -> object:
        if value is None and optional:
            return None
        if type(value) is not int or not 0 <= value < len(objects):
            raise MalformedError
        item = objects[value]
        return item if type(item) in made else _refuse()

    return read


def _tuple_reader(kinds: tuple[Any, ...]) -> Read:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        each = _reader(kinds[0])
        return lambda value, objects: tuple(
            [each(item, objects) for item in _list(value)]
        )
    readers = [_reader(kind) for kind in kinds]
    return lambda value, objects: tuple(
        reader(item, objects)
        for reader, item in zip(readers, _list(value, len(readers)), strict=True)
    )


def _dict_reader(key: object, item: object) -> Read:
    assert key is str, "JSON has no other keys"
    each = _reader(item)

    def read(value: Plain, objects: list[object]) -> object:
        if type(value) is not dict:
            raise MalformedError
        return {name: each(item, objects) for name, item in value.items()}

    return read


def _choice_reader(choices: dict[str, object]) -> Read:
    assert all(isinstance(name, str) for name in choices)

    def read(value: Plain, _: list[object]) -> object:
        return choices[value] if type(value) is str and value in choices else _refuse()

    return read


def _bytes(value: Plain, _: list[object]) -> object:
    try:
        return b64decode(value, validate=True)
    except (TypeError, ValueError) as error:
        raise MalformedError from error


def _list(value: Plain, length: int | None = None) -> list[Plain]:
    if type(value) is not list or length not in (None, len(value)):
        raise MalformedError
    return value


def _refuse() -> object:
    raise MalformedError


@cache
def codec(kind: Any) -> Codec[Any]:
    """Make the codec of a type, once."""
    return Codec(kind)
