"""Queries of texts: parsed, or read from disk where a process has parsed them before.

Parsing takes a fifth of what a small run takes from start to end, most of it for the
tables of the grammar, so the frontend is imported when a text is new.
"""

from collections.abc import Mapping

from tiltpy.codegen.cache.compile_cache import open_parser_cache
from tiltpy.ir.nodes import Query


def parse(
    text: str, *, name: str, params: Mapping[str, object] | None, stored: bool
) -> Query:
    """Parse the query of a text, or find it on disk where `stored` queries may be."""

    def parse_now() -> Query:
        from tiltpy.frontend import parse as frontend  # noqa: PLC0415 - late

        return frontend.parse(text, name=name, params=params)

    texts = isinstance(text, str) and isinstance(name, str)
    has_params = params is not None and not (isinstance(params, dict) and not params)
    if not stored or not texts or has_params:
        return parse_now()
    store = open_parser_cache(name, text)
    return store.memoize("parsed", Query, parse_now, spans=True).value
