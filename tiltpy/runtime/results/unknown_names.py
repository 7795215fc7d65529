"""Errors for names that a result does not have: what things are called here."""

from collections.abc import Collection

from tiltpy.errors import ArgumentError, TiltError
from tiltpy.messages import closest


class UnknownNameError(TiltError, KeyError):
    """There is nothing of that name; a `KeyError` for those who expect one."""

    __str__ = TiltError.__str__  # KeyError would show the message quoted


def unknown_output(name: object, outputs: Collection[str]) -> UnknownNameError:
    """Make the error that there is no output of that name."""
    hint = _hint_name(name, outputs)
    return UnknownNameError(
        f"there is no output '{name}' among {list_names(outputs)}{hint}"
    )


def unknown_column(
    name: object, output: str, columns: Collection[str]
) -> UnknownNameError:
    """Make the error that an output has no column of that name."""
    hint = _hint_name(name, columns)
    if isinstance(name, int | slice):
        hint = "; rows are those of to_arrow(), the first ones head(n)"
    return UnknownNameError(
        f"output '{output}' has no column '{name}'; it has {list_names(columns)}{hint}"
    )


def unknown_attribute(
    name: str, owner: object, word: str, kind: str, names: Collection[str]
) -> AttributeError:
    """Make the error of a misspelt attribute.

    `word` is what hints call the owner, which has things of a `kind` by `names`.
    """
    message = f"'{type(owner).__name__}' object has no attribute '{name}'"
    if name in names:
        message += f"; write {word}['{name}'] for the {kind}"
    # Copy and pickle ask for private ones before there are any.
    elif not name.startswith("_"):
        there_is = f"; the {kind}s are {list_names(names)}: write {word}[name]"
        message += _hint_attribute(name, dir(type(owner)), word) or there_is
    return AttributeError(message, name=name, obj=owner)


def no_array_error() -> ArgumentError:
    """Make the error that a table is taken for an array."""
    return ArgumentError(
        "a result is a table, no array; write result.to_pandas(), "
        "polars.DataFrame(result) or pyarrow.table(result)"
    )


def list_names(names: Collection[str]) -> str:
    """List names in quotes."""
    return ", ".join(f"'{name}'" for name in names) or "none"


def _hint_name(name: object, known: Collection[str]) -> str:
    nearest = closest(str(name), known)
    return f"; did you mean '{nearest}'?" if nearest else ""


def _hint_attribute(name: str, attributes: Collection[str], word: str) -> str:
    known = [each for each in attributes if not each.startswith("_")]
    format_name = name.removeprefix("to_")
    if format_name != name and f"write_{format_name}" in known:
        return f"; write {word}.write_{format_name}(path)"
    nearest = closest(name, known)
    return f"; did you mean {nearest}?" if nearest else ""
