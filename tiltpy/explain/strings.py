"""The strings that are computed before kernels run, as text."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from tiltpy.ir.find_string_uses import find_string_uses
from tiltpy.ir.nodes import Query, StringCall
from tiltpy.ir.string_sources import (
    CallSource,
    ColumnSource,
    Source,
    StateSource,
    StringUses,
)
from tiltpy.types import columns
from tiltpy.visible import quote_string


def describe_strings(query: Query) -> Iterator[str]:
    """Say of each call of a function of strings what it is computed for."""
    uses = find_string_uses(query)
    for use in uses.calls:
        operands = [_list(query, uses, sources) for sources in use.operands]
        match operands:
            case [operand]:
                which = f"each string of {operand}"
            case _ if use.row is not None:
                which = f"what stands in a row of {' and '.join(operands)}"
            case _:
                which = f"each pair of strings of {' and '.join(operands)}"
        yield f"{_callee(use.call)} of {which}"


def _callee(call: StringCall) -> str:
    return f"{call.type if call.function == 'number' else call.function}()"


def _list(query: Query, uses: StringUses, sources: Iterable[Source]) -> str:
    texts = (_describe(query, uses, source) for source in sources)
    return ", ".join(dict.fromkeys(texts)) or "φ"


def _describe(query: Query, uses: StringUses, source: Source) -> str:
    match source:
        case str():
            return quote_string(source)
        case ColumnSource(input=name, column=number):
            declared = query.input(name)
            assert declared is not None
            column, _ = columns(declared.type)[number]
            return f"~{name}.{column}" if column else f"~{name}"
        case CallSource(use=number):
            return _callee(uses.calls[number].call)
        case StateSource(reduction=name):
            return f"the state of {name}()"
        case _:
            assert_never(source)
