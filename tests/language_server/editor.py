"""An editor of one text: a client of the protocol, over the server's stdin and stdout.

It is pygls' own client. Places are parts of the text, so that nobody counts columns.
"""

import asyncio
import sys
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Self, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

URI = "file:///queries/caf%C3%A9.tilt"
PATIENCE = 60
"""Seconds until a test gives up: the machine may be busy."""
_Answer = TypeVar("_Answer")
Diagnostics = tuple[types.Diagnostic, ...]


class Editor:
    """A session with `tilt lsp`."""

    def __init__(self, encodings: list[types.PositionEncodingKind] | None = None):
        self.loop = asyncio.Runner()
        self.client = LanguageClient("editor", "1")
        self.waiting: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        def receive(published: types.PublishDiagnosticsParams) -> None:
            self.waiting.put_nowait(published)

        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(receive)
        self.encodings = encodings
        self.text = ""
        self.version = 0
        self.code: int | None = None

    def __enter__(self) -> Self:
        command = (sys.executable, "-m", "tiltpy", "lsp", "--stdio")
        self.wait(self.client.start_io(*command))
        general = types.GeneralClientCapabilities(position_encodings=self.encodings)
        asked = types.InitializeParams(types.ClientCapabilities(general=general))
        self.capabilities = self.wait(self.client.initialize_async(asked)).capabilities
        self.client.initialized(types.InitializedParams())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.code is None:
            self.end()
        self.loop.close()

    def end(self) -> int:
        """Shut the server down; its exit code."""
        self.wait(self.client.shutdown_async(None))
        self.client.exit(None)
        client: Any = self.client
        code: int = self.wait(client._server.wait())
        self.code = code
        self.wait(client.stop())
        return code

    def leave(self) -> int:
        """Leave without a word; the server's exit code."""
        server: Any = self.client._server
        server.stdin.close()
        self.code = self.wait(server.wait())
        return self.code

    def wait(self, answer: Awaitable[_Answer]) -> _Answer:
        """Wait for an answer."""

        async def patiently() -> _Answer:
            return await asyncio.wait_for(answer, PATIENCE)

        return self.loop.run(patiently())

    # -- the text -----------------------------------------------------------------

    @property
    def name(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(URI)

    def open(self, text: str) -> Diagnostics:
        """Open a text; what is wrong with it."""
        self.text, self.version = text, 1
        item = types.TextDocumentItem(URI, "tilt", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return self.diagnostics()

    def edit(self, old: str, new: str) -> Diagnostics:
        """Replace a part of the text, which occurs once; what is wrong with it then."""
        assert self.text.count(old) == 1, (old, self.text)
        return self.write(self.text.replace(old, new))

    def write(self, text: str) -> Diagnostics:
        """Replace the whole text, or open it; what is wrong with it then."""
        if not self.version:
            return self.open(text)
        self.text, self.version = text, self.version + 1
        name = types.VersionedTextDocumentIdentifier(self.version, URI)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(name, [change])
        )
        return self.diagnostics()

    def diagnostics(self) -> Diagnostics:
        """The diagnostics of this version of the text."""
        published = self.wait(self.waiting.get())
        assert (published.uri, published.version) == (URI, self.version)
        return tuple(published.diagnostics)

    # -- places, by UTF-16 ----------------------------------------------------------

    def position(self, at: int) -> types.Position:
        """The position of a character, counted by the standard's own definition."""
        before = self.text[:at].split("\n")
        return types.Position(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)

    def at(self, part: str, shift: int = 0) -> types.Position:
        """The position of the first occurrence of a part of the text."""
        return self.position(self.text.index(part) + shift)

    def slice(self, span: types.Range) -> str:
        """The characters of a range."""
        return self.text[self._offset(span.start) : self._offset(span.end)]

    def _offset(self, position: types.Position) -> int:
        lines = self.text.split("\n")
        units = lines[position.line].encode("utf-16-le")[: 2 * position.character]
        before = sum(len(line) + 1 for line in lines[: position.line])
        return before + len(units.decode("utf-16-le"))

    def apply(self, edits: list[types.TextEdit]) -> str:
        """The text after some edits."""
        text = self.text
        places = sorted(
            (
                (self._offset(e.range.start), self._offset(e.range.end), e)
                for e in edits
            ),
            key=lambda place: -place[0],
        )
        for start, end, each in places:
            text = text[:start] + each.new_text + text[end:]
        return text
