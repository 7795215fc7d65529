"""Hints for wrong calls: functions and arguments as other systems have them."""

import re
from collections.abc import Sequence

from tiltpy.frontend.hints.general import quote
from tiltpy.frontend.hints.other_languages import FUNCTIONS_ELSEWHERE
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import split_active
from tiltpy.messages import nearest_spelling
from tiltpy.ops import (
    DATE_COMPONENTS,
    FUNCTIONS,
    REDUCTIONS,
    STRING_FUNCTIONS,
    STRING_TESTS,
)
from tiltpy.types import SCALARS

_WINDOW = "~x[t - 10 : t]"
"""The window of hints that show one."""
_SHIFTS = {"lag": "-", "shift": "-", "prev": "-", "previous": "-", "delay": "-",
           "lead": "+", "next": "+"}  # fmt: skip
_CHOICES = {"when", "iff", "iif", "where", "if_else", "ifelse", "cond"}
_AS_OF = {"asof_join", "merge_asof", "join_asof", "aj"}
_DEFAULTS = {"coalesce", "ifnull", "nvl", "fillna", "fill_null", "isnull"}
_PERCENTILES = {"percentile", "percentile_cont", "percentile_disc"}
_COMPARISONS = {"<", ">", "<=", ">=", "==", "!="}
_ROLLING = {"mavg": "mean", "msum": "sum", "mmin": "min", "mmax": "max", "mdev": "std",
            "mcount": "count", "moving_average": "mean", "sma": "mean"}  # fmt: skip


def hint_callee(call: syntax.CallExpression, known: Sequence[str]) -> str:
    """Hint what to write instead of a callee that is none of those known."""
    name = call.callee.text.lower()
    if name != call.callee.text and name in known:
        return f"write {name}"
    arguments = [quote(argument, "...") for argument in call.arguments]
    match arguments:
        case [condition, then, *rest] if name in _CHOICES and len(rest) < 2:
            return f"write {condition} ? {then} : {rest[0] if rest else 'φ'}"
        case [value, otherwise] if name in _DEFAULTS:
            return f"write {value} != φ ? {value} : {otherwise}"
        case [value, type] if name in ("cast", "astype", "convert"):
            return f"write {type if type in SCALARS else 'f64'}({value})"
        case [_, *_] if name in _SHIFTS:
            return _hint_shift(call, _SHIFTS[name])
        case [_] if name == "row":
            return f"a window ends with a row: ~x[-∞ : row {arguments[0]}]"
        case [_] if name == "rows":
            return f"the rows of an input are a domain: e = Rows({arguments[0]})"
        case [_, *_] if name in ("diff", "delta", "deltas"):
            ref, by = _object(call), _length(call, "1")
            before = "last : <t" if by == "1" else f"t - {by}"
            return f"write ~{ref}[t] - ~{ref}[{before}]"
        case [_, *_] if name in _AS_OF:
            name = _object_in(call.arguments[1:])
            return f"write ~{name}[last : t], its value at or before t"
        case [_, *_] if name in ("pct_change", "percent_change", "pctchange"):
            ref, by = _object(call), _length(call, "1")
            if by == "1":
                return f"write ~{ref}[t] / ~{ref}[last : <t] - 1"
            return f"write returns(~{ref}, {by})"
        case _ if name in _PERCENTILES:
            return _hint_percentile(call)
        case _ if percent := re.fullmatch(r"(?:p|perc|percentile_?)(\d\d?)", name):
            return f"write quantile({_window_in(call)}, {int(percent[1]) / 100:g})"
        case _:
            pass
    plain = re.sub(r"^(rolling_|moving_|mov)|_over_time$", "", name)
    if plain != name or name in _ROLLING:
        here = FUNCTIONS_ELSEWHERE.get(plain, "").removeprefix("write ")
        reduction = _ROLLING.get(name) or here or plain
        if reduction in REDUCTIONS:
            return f"write {reduction}(~{_object(call)}[t - {_length(call)} : t])"
    if name.startswith("nan") and name[3:] in REDUCTIONS:
        window = call.arguments[0] if call.arguments else None
        text = _WINDOW if window is None else quote(window, _WINDOW)
        return f"write {name[3:]}(v for v in {text} if !is_nan(v)); φ is skipped anyway"
    elsewhere = FUNCTIONS_ELSEWHERE.get(name)
    if elsewhere is not None:
        return _with_arguments(elsewhere, call)
    bare, is_active = split_active(call.callee.text)
    close = bare if is_active and bare in known else nearest_spelling(bare, known)
    return f"did you mean {close}?" if close else ""


def _with_arguments(hint: str, call: syntax.CallExpression) -> str:
    """Put a call's own arguments into a hint, for `x` and its window."""
    match call.arguments:
        case [syntax.Ref(stop=stop) as window, *_] if stop is not None:
            return hint.replace(_WINDOW, quote(window, _WINDOW))
        case [first, *_] if "{" not in hint:
            text = quote(first, "x")
            return re.sub(r"(?<![~\w.])x(?![\w:])", lambda _: text, hint)
        case _:
            return hint


def hint_each_window(call: syntax.CallExpression) -> str:
    """Hint how a call of values is written that has windows among them."""
    name = call.callee.text
    values = [quote(argument, "...") for argument in call.arguments]
    reduced = [
        f"{name}({value})" if is_window(argument) else value
        for argument, value in zip(call.arguments, values, strict=True)
    ]
    return f"write {name}({', '.join(reduced)})"


def is_window(argument: syntax.Expr) -> bool:
    """Tell whether an argument is a window."""
    return isinstance(argument, syntax.Ref) and argument.stop is not None


def hint_count(call: syntax.CallExpression) -> str:
    """Hint how a call with too few or too many arguments is written."""
    name = call.callee.text
    values = [quote(argument, "x") for argument in call.arguments]
    if name in STRING_TESTS:
        return f'write {name}({values[0] if values else "x"}, "view")'
    if name in STRING_FUNCTIONS:
        string = values[0] if values else "x"
        others = {"split": ', "/", 0', "substr": ", 0, 3", "concat": ', "-", y'}
        return f"write {name}({string}{others.get(name, '')})"
    if name in DATE_COMPONENTS:
        return f'write {name}(t, "Europe/Berlin"), or {name}(t) for UTC'
    match name, call.arguments:
        case "var" | "std", (syntax.Ref(stop=stop), syntax.Number()) if stop:
            return f"write {name}({values[0]}, ddof={values[1]})"
        case "mode", (syntax.Ref(stop=stop), syntax.Number()) if stop:
            return f"write modes({values[0]}, {values[1]})"
        case _, (
            syntax.Ref(stop=stop),
            syntax.InfixOperation(op=op, left=left, right=right),
        ) if stop and name in REDUCTIONS and op in _COMPARISONS:
            value = f"v.{left.text}" if isinstance(left, syntax.Name) else "v"
            condition = f"{value} {op} {quote(right, '...')}"
            return f"write {name}(v for v in {values[0]} if {condition})"
        case _, (syntax.Ref(stop=stop), *_) if stop and name in REDUCTIONS:
            accepted = values[: 1 + bool(REDUCTIONS[name].parameter)]
            return f"write {name}({', '.join(accepted)})"
        case "min" | "max", (_, _, _, *_):
            return f"write {name}({values[0]}, {name}({values[1]}, {values[2]}))"
        case "round", (_, syntax.Number(value=int(digits))) if 0 < digits < 10:
            return f"write round({values[0]} * {10**digits}) / {10**digits}"
        case "log", (_, syntax.Number(value=2 | 10)):
            return f"write log{values[1]}({values[0]})"
        case "log", (_, _):
            return f"write log({values[0]}) / log({values[1]})"
        case "time", _:
            return 'write time("2024-01-01"), or ticks'
        case _ if name.endswith("_active"):
            return f"write {name}(~{_object(call)}[t])"
        case _ if name in REDUCTIONS:
            return f"write {name}(~{_object(call)}[t - {_length(call)} : t])"
        case _ if name in FUNCTIONS:
            arity = FUNCTIONS[name].arity
            accepted = [*values, *"abc"[len(values) :]][:arity]
            return f"write {name}({', '.join(accepted)})"
        case _:
            return f"write {name}(x)"


def _hint_shift(call: syntax.CallExpression, sign: str) -> str:
    name, by = _object(call), _length(call, "1")
    hint = f"write ~{name}[t {sign} {by}], its value at that time"
    if by == "1":
        rows = {"-": "[last : <t], the row before", "+": "[<t : next], the next row"}
        hint += f", or ~{name}{rows[sign]}"
    elif sign == "-" and by.isdecimal():
        hint += f"; {by} rows before is first(~{name}[last {int(by[:9]) + 1} : t])"
    return hint


def _hint_percentile(call: syntax.CallExpression) -> str:
    """Hint at the quantile of a call's window, at its own share or percentage."""
    numbers = [x for x in call.arguments if isinstance(x, syntax.Number)]
    window = _window_in(call)
    share = "0.9"
    if numbers:
        percent = numbers[0].value > 1
        share = f"{numbers[0].value / 100:g}" if percent else quote(numbers[0], share)
    return f"write quantile({window}, {share})"


def _window_in(call: syntax.CallExpression) -> str:
    """Quote a call's first window, or show one."""
    windows = filter(is_window, call.arguments)
    return next((quote(window, _WINDOW) for window in windows), _WINDOW)


def hint_length_after(call: syntax.CallExpression) -> str:
    """Hint at an object and a length, for a call that has a window of them instead."""
    match call.arguments:
        case [syntax.Ref(start=start, stop=stop)] if start is not None:
            length = _length(call, "") or _length_of(start if stop else None)
            wanted = f"{call.callee.text}(~{_object(call)}, {length})"
            return f"write {wanted}" if length else ""
        case _:
            return ""


def _length_of(start: syntax.Expr | None) -> str:
    """Quote how long before the present a window starts, where it says so."""
    match start:
        case syntax.InfixOperation(op="-", right=length):
            return quote(length, "")
        case _:
            return ""


def _object(call: syntax.CallExpression) -> str:
    """Find the first object in a call's arguments; `x` if there is none."""
    return _object_in(call.arguments)


def _object_in(arguments: Sequence[syntax.Expr]) -> str:
    for argument in arguments:
        for node in syntax.walk(argument):
            if isinstance(node, syntax.Ref):
                return node.object
    names = [a.text for a in arguments if isinstance(a, syntax.Name)]
    return names[0] if names else "x"


def _length(call: syntax.CallExpression, otherwise: str = "10") -> str:
    """Find the number or duration among a call's arguments, or `otherwise`."""
    for argument in call.arguments:
        length: syntax.Expr | None = argument
        if isinstance(argument, syntax.Ref) and argument.stop is None:
            length = argument.start  # `~x[10s]`, as in PromQL
        if isinstance(length, syntax.Number | syntax.DurationLiteral):
            return quote(length, otherwise)
    return otherwise
