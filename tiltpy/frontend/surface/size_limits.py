"""Refuses what is larger than the limits, before anything is made of it.

A text is measured before it is parsed, and the statements of a text or of Python before
they are elaborated. What grows later, as functions are written out, is counted by
`elaboration.objects.Expansion`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from tiltpy.errors import ArgumentError, QueryError, QueryErrors
from tiltpy.frontend.surface import syntax
from tiltpy.limits import (
    MAX_COLUMNS,
    MAX_FIELDS,
    MAX_NAME,
    MAX_OPTIONS,
    MAX_PARAMETERS,
    MAX_STATEMENTS,
    MAX_STRING,
    MAX_TEXT,
    MAX_TOKENS,
)
from tiltpy.messages import article
from tiltpy.source import Source, Span

_TOKEN = re.compile(r'\w+|"[^"\\\n]*(?:\\.[^"\\\n]*)*|#[^\n]*|[^\s\w"#]|"')
_HALF = re.compile("[\ud800-\udfff]")
_WAY = "split the query in two: the outputs of one can be the inputs of the other"
_WAYS = {
    "characters of a name": "use a shorter one",
    "characters of a string": "use a shorter one",
    "columns of a key": "combine several into one column first",
    "columns in `order`": "combine several into one column first",
    "fields of a struct": "make several inputs or outputs of it",
    "options of one `in`": "make an input of them, and join it",
    "parameters of a function": "give it a struct",
}
"""The hint for too many nodes other than statements."""
_NAMES = {
    syntax.InputStatement: "inputs",
    syntax.Param: "parameters",
    syntax.TimeDomain: "time domains",
    syntax.RowDomain: "time domains",
    syntax.FunctionDefinition: "functions",
    syntax.ReductionDefinition: "reductions",
    syntax.ObjectDefinition: "definitions",
}
"""The statements that are counted; those of `output` by their names."""


def source_of(name: str, text: object) -> Source:
    """Make the source of a query's text, and check that it is one and not too large."""
    if not isinstance(text, str):
        kind = article(type(text).__name__)
        hint = "; decode it: text.decode()" if isinstance(text, bytes) else ""
        raise ArgumentError(f"{name}: a query is a text (str), not {kind}{hint}")
    if len(text) > MAX_TEXT or len(text.encode(errors="surrogatepass")) > MAX_TEXT:
        start = Source(name, text[:MAX_TEXT])
        span = Span(start, len(start.text) - 1, len(start.text))
        raise QueryErrors([_too_many("bytes of text", MAX_TEXT, span)])
    source = Source(name, text)
    half = _HALF.search(text)
    if half is not None:
        raise QueryErrors([_half(half[0], Span(source, *half.span()))])
    words = (match for match in _TOKEN.finditer(text) if match[0][0] != "#")
    beyond = next(islice(words, MAX_TOKENS, None), None)
    if beyond is not None:
        message = f"the text has more than {MAX_TOKENS:,} words, numbers and signs"
        span = Span(source, *beyond.span())
        raise QueryErrors([QueryError("E0304", message, span, _WAY)])
    return source


def read_start(file: BinaryIO) -> bytes:
    """Read a text's bytes; of one that is too large no more than shows that."""
    start = file.read(MAX_TEXT + 1)
    if len(start) <= MAX_TEXT:
        return start
    return start.decode(errors="ignore").ljust(MAX_TEXT + 1).encode()


def _half(character: str, span: Span) -> QueryError:
    return QueryError(
        "E0004",
        f"U+{ord(character):04X} is half a character (a lone surrogate)",
        span,
        r'write the character itself, or "\u{1F600}" in a string',
    )


def check_statements(statements: Iterable[syntax.Statement]) -> None:
    """Raise a QueryError at the first limit that statements exceed."""
    counts: Counter[str] = Counter()
    nodes = 0
    for node in statements:
        for word, what in _declared_names(node):
            counts[what] += 1
            if counts[what] > MAX_STATEMENTS:
                raise _too_many(what, MAX_STATEMENTS, word.span)
        for words, what, most in _lists(node):
            if len(words) > most:
                raise _too_many(what, most, words[most].span)
            for word in words:
                _check_name(word)
        for body in syntax.bodies(node):
            for inner in syntax.walk(body):
                nodes += 1
                if nodes > MAX_TOKENS:
                    raise _too_many("parts of a query", MAX_TOKENS, inner.span)
                _check_node(inner)


def _declared_names(node: syntax.Statement) -> Iterator[tuple[syntax.Word, str]]:
    """Go through the names that a statement declares, each with its kind."""
    match node:
        case syntax.OutputStatement(names=names):
            yield from ((name, "outputs") for name in names)
        case syntax.Unit():
            return
        case _:
            yield node.name, _NAMES[type(node)]


def _lists(
    node: syntax.Statement,
) -> Iterator[tuple[Sequence[syntax.Word], str, int]]:
    """Go through a statement's lists of words, with what they are and their limit."""
    match node:
        case syntax.InputStatement():
            yield (node.name,), "names", 1
            yield _field_names(node.type), "fields of a struct", MAX_FIELDS
            yield node.keys, "columns of a key", MAX_COLUMNS
            yield node.order, "columns in `order`", MAX_COLUMNS
            yield () if node.time is None else (node.time,), "time columns", 1
        case syntax.FunctionDefinition():
            yield (node.name,), "names", 1
            names = tuple(parameter.name for parameter in node.parameters)
            yield names, "parameters of a function", MAX_PARAMETERS
        case syntax.ReductionDefinition():
            yield (node.name,), "names", 1
            fields = (_field_names(p.type) for p in node.parameters if p.type)
            for names in fields:
                yield names, "fields of a struct", MAX_FIELDS
        case syntax.OutputStatement():
            yield node.names, "outputs", MAX_STATEMENTS
        case syntax.Unit() | syntax.Param() | syntax.TimeDomain():
            yield (node.name,), "names", 1
        case syntax.RowDomain(rows=rows):
            yield (node.name,), "names", 1
            yield (syntax.Word(rows.object, rows.span),), "names", 1
        case syntax.ObjectDefinition():
            yield (node.name,), "names", 1


def _field_names(of: syntax.Type) -> tuple[syntax.Word, ...]:
    """Collect all names in a type, those of structs in structs included."""
    if isinstance(of, syntax.TypeName):
        return (of.name,)
    return tuple(
        word
        for name, inner in of.fields
        for word in (
            (name, *_field_names(inner))
            if isinstance(inner, syntax.StructType)
            else (name,)
        )
    )


def _check_node(node: syntax.Expr | syntax.BlockBody) -> None:
    match node:
        case syntax.Text(value=value, span=span):
            if len(value) > MAX_STRING:
                raise _too_many("characters of a string", MAX_STRING, span)
            if half := _HALF.search(value):
                raise _half(half[0], span)
        case syntax.Membership(options=options) if len(options) > MAX_OPTIONS:
            raise _too_many("options of one `in`", MAX_OPTIONS, options[-1].span)
        case syntax.StructValue(fields=fields) | syntax.With(fields=fields):
            if len(fields) > MAX_FIELDS:
                span = fields[MAX_FIELDS].name.span
                raise _too_many("fields of a struct", MAX_FIELDS, span)
            for field in fields:
                _check_name(field.name)
        case syntax.Member(name=name):
            _check_name(name)
        case syntax.Ref(object=name, span=span) | syntax.Name(text=name, span=span):
            _check_name(syntax.Word(name, span))
        case syntax.CallExpression(callee=callee):
            _check_name(callee)
        case _:
            pass


def _check_name(word: syntax.Word) -> None:
    if len(word.text) > MAX_NAME:
        raise _too_many("characters of a name", MAX_NAME, word.span)
    if half := _HALF.search(word.text):
        raise _half(half[0], word.span)


def _too_many(what: str, most: int, span: Span) -> QueryError:
    hint = _WAYS.get(what, _WAY)
    return QueryError("E0304", f"more than {most:,} {what}", span, hint)
