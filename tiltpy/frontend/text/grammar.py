"""The parser of `grammar/tilt.lark`, built once.

Building the LALR tables takes longer than the rest of a small query's compilation, so
they are stored on disk as JSON, and rebuilt whenever the grammar, lark or Python
changes.
"""

import json
import re
import sys
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from lark import Lark
from lark import __version__ as lark_version
from lark.exceptions import LarkError
from lark.grammar import Rule
from lark.lexer import TerminalDef

from tiltpy.disk_store import DiskStore, user_store

STARTS = ["start", "expr", "lifetime"]
"""Start rules: a whole text (or any run of statements), one expression, and one
lifetime."""
_NO_TABLES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LarkError,
    LookupError, NameError, RecursionError, TypeError, ValueError, re.error,
)  # fmt: skip
"""Errors of lark for data that are no tables, or ask for a module that is not there."""


def grammar_path(name: str) -> Traversable:
    """Find a file of `grammar/`.

    That folder is a part of the installed package, and lies beside it in a clone.
    """
    installed = files("tiltpy") / "grammar" / name
    in_clone = Path(__file__).parents[3] / "grammar" / name
    return installed if installed.is_file() else in_clone


def grammar_file(name: str) -> str:
    """Read a file of `grammar/`."""
    return grammar_path(name).read_text(encoding="utf-8")


def grammar_text() -> str:
    """Read `grammar/tilt.lark`."""
    return grammar_file("tilt.lark")


@cache
def parser() -> Lark:
    """Make the LALR parser with its contextual lexer, once."""
    return stored_parser(grammar_text(), user_store())


def stored_parser(grammar: str, store: DiskStore | None) -> Lark:
    """Make a grammar's parser of the tables in a store, and add them if they lack."""
    key = f"{lark_version} {sys.version} {STARTS} {grammar}"
    tables = None if store is None else store.get(key)
    loaded = None if tables is None else load_tables(tables)
    if loaded is not None:
        return loaded
    built = build_parser(grammar)
    if store is not None:
        store.put(key, save_tables(built))
    return built


def build_parser(grammar: str) -> Lark:
    """Build the parser of a grammar's text from nothing."""
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=STARTS,
        propagate_positions=True,
        maybe_placeholders=True,
    )


def terminals() -> list[tuple[str, str]]:
    """List the grammar's terminals and their regular expressions."""
    return [
        (terminal.name, terminal.pattern.to_regexp()) for terminal in parser().terminals
    ]


def save_tables(built: Lark) -> bytes:
    """Write a parser's tables as JSON."""
    data, memo = built.memo_serialize([TerminalDef, Rule])
    text = json.dumps({"data": data, "memo": memo}, separators=(",", ":"))
    return text.encode("ascii")


def load_tables(tables: bytes) -> Lark | None:
    """Make the parser of some tables, or None if they are none.

    They are plain data, and nothing but rules, terminals and regular expressions is
    made of them.
    """
    with suppress(*_NO_TABLES):
        loaded: Lark = Lark.load(json.loads(tables, object_hook=_with_numbers))
        return loaded
    return None


def _with_numbers(mapping: dict[str, Any]) -> dict[Any, Any]:
    """Make numbers again of the keys that JSON made strings of: all or none."""
    if next(iter(mapping), "").isdecimal():
        return dict(zip(map(int, mapping), mapping.values(), strict=True))
    return mapping
