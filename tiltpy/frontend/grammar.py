"""The parser of `grammar/tilt.lark`, built once.

Building the LALR tables takes longer than the rest of a small query's compilation, so
they are kept in the user's own cache folder (what is read from it is unpickled), and
are made anew whenever the grammar, lark or Python are others.
"""

import os
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from lark import Lark
from lark import __version__ as lark_version

STARTS = ["start", "expr"]
"""What can be parsed: a whole text (or any run of statements), one expression."""
_DIGEST = sha256().digest_size


def grammar_file(name: str) -> str:
    """The text of a file of `grammar/`.

    That folder is a part of the installed package, and lies beside it in a clone.
    """
    installed = files("tiltpy") / "grammar" / name
    in_clone = Path(__file__).parents[2] / "grammar" / name
    return (installed if installed.is_file() else in_clone).read_text(encoding="utf-8")


def grammar_text() -> str:
    """The text of `grammar/tilt.lark`."""
    return grammar_file("tilt.lark")


@cache
def parser() -> Lark:
    """The LALR parser with its contextual lexer."""
    grammar, place = grammar_text(), _place()
    kept = None if place is None else load_tables(place, grammar)
    if kept is not None:
        return kept
    built = build_parser(grammar)
    if place is not None:
        save_tables(built, place, grammar)
    return built


def build_parser(grammar: str) -> Lark:
    """The parser of a grammar's text, built from nothing."""
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=STARTS,
        propagate_positions=True,
        maybe_placeholders=True,
    )


def terminals() -> list[tuple[str, str]]:
    """The grammar's terminals and their regular expressions."""
    return [(one.name, one.pattern.to_regexp()) for one in parser().terminals]


def _place() -> Path | None:
    """Where the tables are kept, if the user has a place for such things."""
    with suppress(RuntimeError):  # no home
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(caches) / "tiltpy" / "grammar.tables"
    return None


def load_tables(place: Path, grammar: str) -> Lark | None:
    """The parser whose tables are kept in a file, if they are those of the grammar."""
    with suppress(OSError):
        kept = place.read_bytes()
        digest, tables = kept[:_DIGEST], kept[_DIGEST:]
        if digest == _digest(grammar, tables):
            loaded: Lark = Lark.load(BytesIO(tables))
            return loaded
    return None


def save_tables(built: Lark, place: Path, grammar: str) -> None:
    """Keep a parser's tables in a file, whole or not at all."""
    tables = BytesIO()
    built.save(tables)
    beside = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(_digest(grammar, tables.getvalue()) + tables.getvalue())
        beside.replace(place)


def _digest(grammar: str, tables: bytes) -> bytes:
    made_by = f"{lark_version} {sys.version} {STARTS} {grammar}"
    return sha256(made_by.encode() + tables).digest()
