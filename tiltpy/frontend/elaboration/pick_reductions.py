"""Reductions that pick an element of any type: written for it where they are used.

`argmax argmin` of any value, `first last` of structs: as texts of reductions of the
language, over a type that a text for all types could not name.
"""

from typing import assert_never

from tiltpy.types import Scalar, Struct, Type
from tiltpy.visible import format_name

_CHOICE = """
reduction {name}(p: {{ key: {key}, value: {value} }}) {{
    init = {{ key = {key}(φ), value = {nothing} }}
    acc = {{
        better = state.key == φ || {better_now}
        return better ? p : state
    }}
    merge = {{
        better = {better_later}
        return better ? b : a
    }}
    result = state.value
}}
"""
_LAST = """
reduction {name}(v: {value}) {{
    init = {nothing}
    acc = v
    merge = b
    result = state
}}
"""
_FIRST = """
reduction {name}(v: {value}) {{
    init = {{ some = false, value = {nothing} }}
    acc = state.some ? state : {{ some = true, value = v }}
    merge = a
    result = state.value
}}
"""


def pick_reduction(name: str, element: Type) -> str:
    """Write the reduction `name` of elements: of a `key` and a `value`, or of any."""
    if name in ("argmax", "argmin"):
        assert isinstance(element, Struct)
        key, value = (of for _, of in element.fields)
        assert isinstance(key, Scalar)
        return _CHOICE.format(
            name=f"{name}_of",
            key=key,
            value=_type(value),
            nothing=_nothing(value),
            better_now=_better(name, "p.key", "state.key", key),
            better_later=_better(name, "b.key", "a.key", key),
        )
    form = _LAST if name == "last" else _FIRST
    return form.format(
        name=f"{name}_of", value=_type(element), nothing=_nothing(element)
    )


def _better(name: str, new: str, old: str, key: Scalar) -> str:
    """Compare keys; a NaN is beyond all others, as in `min` and `max`."""
    text = f"{new} {'>' if name == 'argmax' else '<'} {old}"
    return f"{text} || is_nan({new}) && !is_nan({old})" if key.is_float else text


def _type(value: Type) -> str:
    """Write a type, as an element is declared."""
    if isinstance(value, Scalar):
        return str(value)
    fields = ", ".join(f"{format_name(name)}: {_type(of)}" for name, of in value.fields)
    return f"{{ {fields} }}"


def _nothing(value: Type) -> str:
    """Write a value of a type whose fields are φ."""
    match value:
        case Struct(fields=fields):
            inner = ", ".join(
                f"{format_name(name)} = {_nothing(of)}" for name, of in fields
            )
            return f"{{ {inner} }}"
        case Scalar():
            return f"{value}(φ)"
        case _:
            assert_never(value)
