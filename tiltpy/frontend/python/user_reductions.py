"""User-defined reductions, in Python.

    my_rms = reduction(
        "my_rms", F64,
        init={"s": 0.0, "n": 0},
        acc=lambda state, v: {"s": state.s + v * v, "n": state.n + 1},
        merge=lambda a, b: {"s": a.s + b.s, "n": a.n + b.n},
        result=lambda state: sqrt(state.s / state.n),
    )
    o = define("o", t, my_rms(x[t - "10s" : t]))

Each clause is called once, with expressions for what it sees; it says what a text
would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Literal, overload

from tiltpy.argument_checks import check_flag
from tiltpy.errors import QueryError
from tiltpy.frontend.python.builder import SERIALS
from tiltpy.frontend.python.caller_span import caller_span
from tiltpy.frontend.python.declarations import (
    PayloadType,
    check_name,
    write_payload,
)
from tiltpy.frontend.python.expressions import (
    Declaration,
    Expression,
    Provenance,
    Value,
    combine,
    lift,
)
from tiltpy.frontend.python.sharing import share
from tiltpy.frontend.python.values import struct
from tiltpy.frontend.python.windows import filter_element
from tiltpy.frontend.surface import syntax
from tiltpy.ir.reductions import END, NEWER, OLDER, START, STATE

State = Value | Mapping[str, Value]
"""A state: a value, or one for each field of a struct."""
Accumulate = Callable[[Expression, Expression], State]
AccumulateBounded = Callable[[Expression, Expression, Expression, Expression], State]
_ELEMENT = "v"


class Reduction:
    """A user-defined reduction: called with a window, or an expression of its element.

    `where` is a condition over the same element. Over no snapshot the result is φ.
    """

    def __init__(self, declared: Declaration) -> None:
        self._declared = declared

    @property
    def name(self) -> str:
        """Its name, as in a text."""
        return self._declared.statement.name.text

    def __call__(self, x: Value, where: Value | None = None) -> Expression:
        element = filter_element(self.name, x, where)
        span = caller_span()
        node = syntax.CallExpression(
            syntax.Word(self.name, span), (element.syntax,), (), span, reduce=True
        )
        itself = Provenance(objects=frozenset([self._declared]))
        return combine(node, [element, Expression(element.syntax, itself)])

    def __repr__(self) -> str:
        return f"<reduction {self.name}>"


@overload
def reduction(
    name: str,
    type: PayloadType,
    *,
    init: State,
    acc: Accumulate,
    result: Callable[[Expression], State],
    merge: Callable[[Expression, Expression], State] | None = None,
    deacc: Accumulate | None = None,
    bounds: Literal[False] = False,
) -> Reduction: ...


@overload
def reduction(
    name: str,
    type: PayloadType,
    *,
    init: State,
    acc: AccumulateBounded,
    result: Callable[[Expression], State],
    merge: Callable[[Expression, Expression], State] | None = None,
    deacc: AccumulateBounded | None = None,
    bounds: Literal[True],
) -> Reduction: ...


def reduction(
    name: str,
    type: PayloadType,
    *,
    init: State,
    acc: Callable[..., State],
    result: Callable[[Expression], State],
    merge: Callable[[Expression, Expression], State] | None = None,
    deacc: Callable[..., State] | None = None,
    bounds: bool = False,
) -> Reduction:
    """Define a reduction over elements of a type (section 6.1.2 of the paper).

    The state begins with `init`, a value or a dictionary of them, and `acc(state, v)`
    is the state with one snapshot more; `result(state)` is made of the last one. With
    `merge(a, b)`, the state of two ranges of time (`a` the older), it slides, and so
    it does with `deacc(state, v)`, which takes the oldest snapshot out, where the state
    is of integers. With `bounds`, `acc(state, v, start, end)` sees where snapshots
    start and end, in ticks and cut to the window.
    """
    span = caller_span()
    bounds = check_flag("bounds", bounds)
    seen = (STATE, _ELEMENT, START, END) if bounds else (STATE, _ELEMENT)
    clauses = [
        _write_clause("init", lambda: init, ()),
        _write_clause("acc", acc, seen),
        _write_clause("deacc", deacc, seen),
        _write_clause("merge", merge, (OLDER, NEWER)),
        _write_clause("result", result, (STATE,)),
    ]
    element = syntax.ElementParameter(
        syntax.Word(_ELEMENT, span), write_payload(type, span)
    )
    others = (START, END) if bounds else ()
    statement = syntax.ReductionDefinition(
        check_name(name, span),
        (
            element,
            *(syntax.ElementParameter(syntax.Word(n, span), None) for n in others),
        ),
        tuple(clause for clause, _ in clauses if clause is not None),
    )
    needs = frozenset().union(*(needed for _, needed in clauses))
    return Reduction(Declaration(next(SERIALS), statement, needs))


def _accepts(make: Callable[..., State], count: int) -> bool:
    """Tell whether a function can be called with `count` arguments."""
    try:
        signature(make).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


def _write_clause(
    name: str, make: Callable[..., State] | None, seen: tuple[str, ...]
) -> tuple[syntax.ReductionClause | None, frozenset[Declaration]]:
    """Write a clause: call `make` with an expression for each name in `seen`.

    Returns the parameters in it, too.
    """
    if make is None:
        return None, frozenset()
    span = caller_span()
    if not callable(make) or not _accepts(make, len(seen)):
        message = f"`{name}` of a reduction is a function of {' and '.join(seen)}"
        hint = f"write {name}=lambda {', '.join(seen)}: ..."
        raise QueryError("E0206", message, span, hint)
    state = make(*(Expression(syntax.Name(word, span)) for word in seen))
    value = struct(**state) if isinstance(state, Mapping) else lift(state)
    needs = value.provenance.objects
    for declared in needs:
        hidden = declared.statement.name.text
        if isinstance(declared.statement, syntax.Param) and hidden in seen:
            message = f"`{hidden}` is what `{name}` of a reduction sees already"
            raise QueryError("E0005", message, span, "give the parameter another name")
    clause = syntax.ReductionClause(syntax.Word(name, span), share(value.syntax))
    return clause, needs
