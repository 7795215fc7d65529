"""Selection of the outputs of a query."""

from collections.abc import Mapping, Sequence

from tiltpy.errors import QueryError
from tiltpy.frontend.elaboration.objects import Objects
from tiltpy.frontend.elaboration.poison import ErrorLog
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import nearest
from tiltpy.ir.keys import Keys, object_keys
from tiltpy.ir.nodes import At, EventBound, Input, Reduce, TemporalExpr
from tiltpy.ir.traversal import walk
from tiltpy.source import Span


def read_outputs(
    statements: Sequence[syntax.OutputStatement],
    definitions: Sequence[TemporalExpr],
    inputs: Mapping[str, Input],
    log: ErrorLog,
) -> tuple[str, ...]:
    """Read the names of the outputs; by default every object that no other uses.

    Errors go to the log, but not those of names that are poisoned.
    """
    defined = {definition.name: definition for definition in definitions}
    keys = object_keys(inputs.values(), definitions)
    outputs: dict[str, Span] = {}
    if not statements:
        used = {name for definition in definitions for name in _uses(definition)}
        outputs = {name: d.span for name, d in defined.items() if name not in used}
    for word in (word for statement in statements for word in statement.names):
        fault = _output_fault(word, defined, inputs, outputs)
        if fault is None:
            outputs[word.text] = word.span
        elif f"~{word.text}" not in log.poisoned:
            log.errors.append(fault)
    for name, span in outputs.items():
        log.errors.extend(_column_faults(defined[name], keys[name], span))
    return tuple(outputs)


def drop_unused_objects(objects: Objects) -> list[TemporalExpr]:
    """Drop the definitions inside of bodies that nothing refers to."""
    droppable = set(objects.local_names.values())
    remaining: list[TemporalExpr] = []
    used: set[str] = set()
    for definition in reversed(objects.definitions):
        if definition.name not in droppable or definition.name in used:
            remaining.append(definition)
            used |= _uses(definition)
    return remaining[::-1]


def _uses(definition: TemporalExpr) -> set[str]:
    """Collect the objects that a definition refers to."""
    rows = definition.tdom.rows
    used: set[str] = set() if rows is None else {rows}
    for node in walk(definition.body):
        match node:
            case At() | EventBound():
                used.add(node.object)
            case Reduce():
                used.add(node.window.object)
            case _:
                pass
    return used


def _output_fault(
    word: syntax.Word,
    defined: dict[str, TemporalExpr],
    inputs: Mapping[str, Input],
    outputs: dict[str, Span],
) -> QueryError | None:
    """Check the name of an output: it is defined, and no output already."""
    name = word.text
    if name in inputs:
        return QueryError(
            "E0114",
            f"~{name} is an input; outputs are defined",
            word.span,
            f"write ~out[t] = ~{name}[t] and output ~out",
        )
    if name not in defined:
        message = f"unknown object ~{name}"
        hint = nearest(name, defined, "~") or f"define it, like ~{name}[t] = ..."
        return QueryError("E0101", message, word.span, hint)
    if name in outputs:
        message = f"~{name} is an output already"
        return QueryError("E0114", message, word.span, "leave it out")
    return None


def _column_faults(
    definition: TemporalExpr, keys: Keys, span: Span
) -> list[QueryError]:
    """Check that an output's columns differ from its keys and its two time columns."""
    reserved = dict.fromkeys(keys, "its key has the column already")
    reserved |= dict.fromkeys(
        ("start", "end"), "outputs have columns start and end already"
    )
    return [
        QueryError(
            "E0114",
            f"~{definition.name} would have a second column `{column}`",
            span,
            f"{reserved[column]}; give it another name",
        )
        for column in definition.columns
        if column in reserved
    ]
