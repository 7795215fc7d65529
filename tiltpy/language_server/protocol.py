"""Answers of the language server in the types of the protocol."""

from typing import Any

from lsprotocol import types

from tiltpy.errors import QueryError
from tiltpy.forks import cached_property
from tiltpy.frontend.elaboration.library import library_source
from tiltpy.frontend.text.grammar import grammar_path
from tiltpy.language_server.analysis import Analysis
from tiltpy.language_server.complete import Completion, Proposal, ProposalKind
from tiltpy.language_server.hover import format_documentation
from tiltpy.language_server.positions import Encoding, Positions
from tiltpy.source import Span

_KINDS: dict[ProposalKind, types.CompletionItemKind] = {
    "object": types.CompletionItemKind.Variable,
    "field": types.CompletionItemKind.Field,
    "variable": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
    "keyword": types.CompletionItemKind.Keyword,
    "type": types.CompletionItemKind.TypeParameter,
}


class Document:
    """A text that an editor shows, and what is known of it.

    `previous` is the last analysis of a text that read.
    """

    def __init__(
        self,
        uri: str,
        analysis: Analysis,
        previous: Analysis | None,
        encoding: Encoding,
    ) -> None:
        self.uri = uri
        self.analysis = analysis
        self.previous = previous
        self._encoding = encoding

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self.analysis.source.text, self._encoding)

    def offset(self, position: types.Position) -> int:
        """Find the character at a position."""
        return self._positions.offset(position.line, position.character)

    def range(self, span: Span) -> types.Range:
        """Convert a span of the text."""
        return _range(self._positions, span)

    def location(self, span: Span) -> types.Location | None:
        """Convert a span of this text or of the library; None if it is of neither."""
        if span.source is self.analysis.source:
            return types.Location(self.uri, self.range(span))
        if span.source is library_source():
            positions = Positions(span.source.text, self._encoding)
            return types.Location(library_uri(), _range(positions, span))
        return None

    def diagnostics(self) -> list[types.Diagnostic]:
        """Convert the errors of the text."""
        return [self._diagnostic(error) for error in self.analysis.errors]

    def _diagnostic(self, error: QueryError) -> types.Diagnostic:
        notes = [(self.location(span), note) for span, note in error.notes]
        hint = f"; {error.hint}" if error.hint else ""
        span = error.span
        if span.source is not self.analysis.source:
            span = Span(self.analysis.source, 0, 0)
        return types.Diagnostic(
            range=self.range(span),
            message=f"{error.message}{hint}",
            severity=types.DiagnosticSeverity.Error,
            code=error.code,
            source="tilt",
            related_information=[
                types.DiagnosticRelatedInformation(location, note)
                for location, note in notes
                if location is not None
            ],
        )

    def items(self, completion: Completion) -> list[types.CompletionItem]:
        """Convert what may stand at the cursor."""
        source = self.analysis.source
        replaced = self.range(Span(source, completion.start, completion.end))
        tilde = source.text[completion.start : completion.start + 1] == "~"
        return [
            _item(proposal, replaced, number, tilde=tilde)
            for number, proposal in enumerate(completion.proposals)
        ]

    def replace_text(self, text: str) -> list[types.TextEdit]:
        """Make the edit that changes the text into another, as small as can be.

        Line ends stay as the text has them.
        """
        old = self.analysis.source.text
        if "\r\n" in old:
            text = text.replace("\n", "\r\n")
        if old == text:
            return []
        start = _count_common(old, text)
        behind = _count_common(old[start:][::-1], text[start:][::-1])
        span = Span(self.analysis.source, start, len(old) - behind)
        return [types.TextEdit(self.range(span), text[start : len(text) - behind])]


def _count_common(first: str, second: str) -> int:
    """Count the characters with which both texts begin."""
    pairs = enumerate(zip(first, second, strict=False))
    shorter = min(len(first), len(second))
    return next((place for place, (a, b) in pairs if a != b), shorter)


def library_uri() -> str:
    """Find the URI of the library's text."""
    path: Any = grammar_path("std.tilt")
    uri: str = path.resolve().as_uri() if hasattr(path, "as_uri") else "tilt:std.tilt"
    return uri


def markdown(text: str) -> types.MarkupContent:
    """Mark a text as Markdown."""
    return types.MarkupContent(types.MarkupKind.Markdown, text)


def _range(positions: Positions, span: Span) -> types.Range:
    length = len(span.source.text)
    start = positions.position(min(span.start, length))
    end = positions.position(min(span.end, length))
    return types.Range(types.Position(*start), types.Position(*end))


def _item(
    proposal: Proposal, replaced: types.Range, number: int, *, tilde: bool
) -> types.CompletionItem:
    known = proposal.documentation
    word = proposal.word or proposal.label
    return types.CompletionItem(
        label=proposal.label,
        kind=_KINDS[proposal.kind],
        detail=proposal.detail or None,
        documentation=None if known is None else markdown(format_documentation(known)),
        filter_text=word if tilde else word.removeprefix("~"),
        sort_text=f"{number:04}",
        text_edit=types.TextEdit(replaced, proposal.label),
    )
