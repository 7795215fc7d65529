"""The server: what editors ask over stdin and stdout, and what it answers.

It reads and answers one message after the other. Editors send whole texts after each
edit, so that line ends and positions are counted in one place (`positions.py`).
"""

import logging
import sys
from contextlib import redirect_stdout
from threading import Event
from typing import BinaryIO, cast
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run
from pygls.lsp.server import LanguageServer

from tiltpy.errors import QueryErrors, TiltError
from tiltpy.frontend.elaboration.library import library_function
from tiltpy.frontend.text.format import format_source
from tiltpy.language_server.analysis import analyse
from tiltpy.language_server.complete import complete
from tiltpy.language_server.hover import hover
from tiltpy.language_server.positions import Encoding
from tiltpy.language_server.protocol import Document, markdown
from tiltpy.language_server.rename import find_renamed, rename

REFUSED = -32803
"""The protocol's code of a request that cannot be met (RequestFailed)."""


class RequestError(JsonRpcException):
    """A request that cannot be met, with the reason in one line."""

    def __init__(self, error: TiltError) -> None:
        message = error.message if isinstance(error, QueryErrors) else str(error)
        super().__init__(message, REFUSED)


class TiltServer(LanguageServer):
    """The server and the texts that an editor has open."""

    def __init__(self, version: str) -> None:
        super().__init__("tilt", version, types.TextDocumentSyncKind.Full)
        self.documents: dict[str, Document] = {}

    def document(self, uri: str) -> Document:
        """Find an open text, or analyse the file of a URI."""
        return self.documents.get(uri) or self.analyse(uri)

    def analyse(self, uri: str) -> Document:
        """Analyse a text as it is now."""
        text = self.workspace.get_text_document(uri).source
        name = unquote(urlsplit(uri).path).rpartition("/")[2] or uri
        analysis = analyse(text, name)
        before = self.documents.get(uri)
        previous = before.previous if before else None
        if analysis.reads:
            previous = analysis
        encoding = types.PositionEncodingKind(self.workspace.position_encoding).value
        document = Document(uri, analysis, previous, cast(Encoding, encoding))
        self.documents[uri] = document
        return document

    def publish(self, uri: str) -> None:
        """Analyse a text and send what is wrong with it."""
        document = self.analyse(uri)
        version = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, document.diagnostics(), version)
        )


def _open(ls: TiltServer, params: types.DidOpenTextDocumentParams) -> None:
    ls.publish(params.text_document.uri)


def _change(ls: TiltServer, params: types.DidChangeTextDocumentParams) -> None:
    ls.publish(params.text_document.uri)


def _close(ls: TiltServer, params: types.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.documents.pop(uri, None)
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _hover(ls: TiltServer, params: types.HoverParams) -> types.Hover | None:
    document = ls.document(params.text_document.uri)
    offset = document.offset(params.position)
    shown = hover(document.analysis, document.previous, offset)
    if shown is None:
        return None
    span, text = shown
    return types.Hover(markdown(text), document.range(span))


def _complete(ls: TiltServer, params: types.CompletionParams) -> types.CompletionList:
    document = ls.document(params.text_document.uri)
    offset = document.offset(params.position)
    completion = complete(document.analysis, document.previous, offset)
    return types.CompletionList(is_incomplete=False, items=document.items(completion))


def _define(ls: TiltServer, params: types.DefinitionParams) -> types.Location | None:
    document = ls.document(params.text_document.uri)
    offset = document.offset(params.position)
    occurrence = document.analysis.name_at(offset)
    if occurrence is not None:
        return document.location(occurrence.symbol.definition)
    word = document.analysis.word_at(offset)
    function = (
        None if word is None else library_function(document.analysis.text_of(word))
    )
    return None if function is None else document.location(function.name.span)


def _refer(
    ls: TiltServer, params: types.ReferenceParams
) -> list[types.Location] | None:
    document = ls.document(params.text_document.uri)
    bindings = document.analysis.bindings
    occurrence = bindings.at(document.offset(params.position))
    if occurrence is None:
        return None
    return [
        types.Location(document.uri, document.range(each.span))
        for each in bindings.of(occurrence.symbol)
        if params.context.include_declaration
        or each.span != occurrence.symbol.definition
    ]


def _prepare_rename(ls: TiltServer, params: types.PrepareRenameParams) -> types.Range:
    document = ls.document(params.text_document.uri)
    try:
        renamed = find_renamed(document.analysis, document.offset(params.position))
    except TiltError as error:
        raise RequestError(error) from error
    return document.range(renamed.span)


def _rename(ls: TiltServer, params: types.RenameParams) -> types.WorkspaceEdit:
    document = ls.document(params.text_document.uri)
    offset = document.offset(params.position)
    name = params.new_name.strip()
    try:
        spans = rename(document.analysis, offset, name)
    except TiltError as error:
        raise RequestError(error) from error
    bare = name.removeprefix("~")
    edits = [types.TextEdit(document.range(span), bare) for span in spans]
    return types.WorkspaceEdit(changes={document.uri: edits})


def _format(
    ls: TiltServer, params: types.DocumentFormattingParams
) -> list[types.TextEdit]:
    document = ls.document(params.text_document.uri)
    source = document.analysis.source
    try:
        text = format_source(source.text, name=source.name)
    except TiltError as error:
        raise RequestError(error) from error
    return document.replace_text(text)


FEATURES = (
    (types.TEXT_DOCUMENT_DID_OPEN, _open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, _change, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, _close, None),
    (types.TEXT_DOCUMENT_HOVER, _hover, None),
    (
        types.TEXT_DOCUMENT_COMPLETION,
        _complete,
        types.CompletionOptions(trigger_characters=["~", "."]),
    ),
    (types.TEXT_DOCUMENT_DEFINITION, _define, None),
    (types.TEXT_DOCUMENT_REFERENCES, _refer, None),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, _prepare_rename, None),
    (
        types.TEXT_DOCUMENT_RENAME,
        _rename,
        types.RenameOptions(prepare_provider=True),
    ),
    (types.TEXT_DOCUMENT_FORMATTING, _format, None),
)
"""Handlers by method, with the options of the capability."""


class _Output:
    """Writes messages; the end of the protocol does not close the stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()

    def close(self) -> None:
        self._stream.flush()


def make_server(version: str) -> TiltServer:
    """Make a server with all its features."""
    server = TiltServer(version)
    for method, handler, options in FEATURES:
        server.feature(method, options)(handler)
    return server


def serve(version: str, stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Serve an editor until it says so; returns the exit code, 1 if it just left."""
    _log_bugs()
    server = make_server(version)
    server.protocol.set_writer(_Output(stdout))
    try:
        with redirect_stdout(sys.stderr):  # nothing else may come in between
            run(
                Event(),
                stdin,
                server.protocol,
                error_handler=server.report_server_error,
            )
    except SystemExit as end:
        return int(end.code or 0)
    return 1


def _log_bugs() -> None:
    """Log on stderr what pygls reports, but not requests that were refused."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.addFilter(
        lambda record: (
            not (record.exc_info and isinstance(record.exc_info[1], RequestError))
        )
    )
    logger = logging.getLogger("pygls")
    logger.addHandler(handler)
    logger.propagate = False
