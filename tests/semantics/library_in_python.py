"""`grammar/std.tilt` as functions of Python: one definition, two doors.

`tiltpy/library.py` is what `module()` gives; a test compares them.
"""

import re
from textwrap import fill, indent

from tiltpy.frontend.elaboration.library import library_functions, library_text
from tiltpy.frontend.surface import syntax

_DOC = re.compile(r"((?:^# ?.*\n)+)def (\w+)\(", re.MULTILINE)
HEAD = '''"""The library of functions in Python; `grammar/std.tilt` defines them.

    from tiltpy.library import sma

    average = define("average", t, sma(stock, "10s"))

An object parameter takes a temporal object, a field of one (`trades.price`), or an
expression over the caller's time domain, which becomes an object. This file is written
by `pytest tests/semantics/test_library.py --update-golden`.
"""

from math import inf

from tiltpy.frontend.python.expressions import Expression, Value, call
from tiltpy.frontend.python.times import lift_time
'''


def docs() -> dict[str, str]:
    """Return what the comment above each function says."""
    found = {}
    for comment, name in _DOC.findall(library_text()):
        lines = [line.removeprefix("#").strip() for line in comment.splitlines()]
        found[name] = " ".join(lines)
    return found


def module() -> str:
    """The text of `tiltpy/library.py`."""
    said = docs()
    written = [_function(one, said[one.name.text]) for one in library_functions()]
    return HEAD + "".join(f"\n\n{one}" for one in written)


def _function(function: syntax.FunctionDefinition, doc: str) -> str:
    name = function.name.text
    taken = ", ".join(_parameter(one) for one in function.parameters)
    given = ", ".join(_argument(one) for one in function.parameters)
    head = f"def {name}({taken}) -> Expression:"
    if len(head) > 88:
        lines = "".join(f"    {_parameter(one)},\n" for one in function.parameters)
        head = f"def {name}(\n{lines}) -> Expression:"
        one_line = f"def {name}(\n    {taken}\n) -> Expression:"
        if len(taken) <= 84:
            head = one_line
    first, *more = re.split(r"(?<=[.]) ", doc, maxsplit=1)
    said = first if not more else f"{first}\n\n{fill(more[0], 84)}\n"
    made = f'return call("{name}", {given})\n'
    if len(made) > 85:
        given = given.replace(", ", ",\n    ")
        made = f'return call(\n    "{name}",\n    {given},\n)\n'
    body = f'"""{said}"""\n{made}'
    return f"{head}\n{indent(body, '    ')}"


def _parameter(one: syntax.Parameter) -> str:
    kind = "Expression" if one.object else "Value"
    if one.default is None:
        return f"{one.name.text}: {kind}"
    return f"{one.name.text}: {kind} = {_default(one.default)}"


def _argument(one: syntax.Parameter) -> str:
    """Strings are durations, but for what stands in for a value."""
    name = one.name.text
    return name if one.object or name == "value" else f"lift_time({name})"


def _default(value: syntax.Expr) -> str:
    match value:
        case syntax.Number(value=number) | syntax.Bool(value=number):
            return repr(number)
        case syntax.DurationLiteral(span=span):
            return f'"{span.source.text[span.start : span.end]}"'
        case _:
            raise AssertionError("a default of the library is a literal")
