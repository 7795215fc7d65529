"""The server through a real client: ten edits, and every question an editor asks."""

from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.language_server.editor import URI, Diagnostics, Editor
from tiltpy.frontend.elaboration.library import library_text
from tiltpy.frontend.text.format import format_source

TEXT = """\
unit s
# Prices, and the sizes of trades: 😀 φ ∞ ⊕.
param width : duration = 1m
input trades by symbol : { price: f64, size: i64 } time ts until_next
w = TDom(-∞, ∞, 1s)

# The mean price of each trade, weighted by its size.
~vwap[w] = {
    value = ⊕(+, ~trades[w-width : w+5s].price * ~trades[w-width : w+5s].size)
    size = sum(~trades[w-width : w+5s].size)
    return size > 0 ? value / size : φ
}
~near[w] = abs(~vwap[w] - sma(~trades.price, 10s)) < 0.5
"""


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with Editor() as session:
        yield session


def codes(diagnostics: Diagnostics) -> list[str]:
    return [str(each.code) for each in diagnostics]


def test_ten_edits(editor: Editor) -> None:
    assert editor.open(TEXT) == ()
    # A name is wrong, then a second one; then both are right again.
    (wrong,) = editor.edit("value / size : φ", "valu / size : φ")
    assert wrong.code == "E0102"
    assert wrong.message == "unknown name `valu`; did you mean value?"
    assert wrong.severity is types.DiagnosticSeverity.Error
    assert (wrong.source, editor.slice(wrong.range)) == ("tilt", "valu")
    found = editor.edit("sma(~trades.price", "sma(~trade.price")
    assert codes(found) == ["E0102", "E0101"]
    found = editor.edit("valu / size", "value / size")
    assert codes(found) == ["E0101"]
    assert editor.slice(found[0].range) == "~trade"
    assert editor.edit("sma(~trade.price", "sma(~trades.price") == ()
    # Half a statement at the end: the others stay right.
    found = editor.write(editor.text + "~last[w] = mean(~trades[")
    assert codes(found) == ["E0002"]
    # An error behind characters of two UTF-16 units and of three bytes.
    found = editor.write(TEXT + '~last[w] = "😀φ∞⊕" == ~trades[w]')
    assert [editor.slice(each.range) for each in found] == ["~trades[w]"]
    found = editor.edit("== ~trades[w]", "== ~trad[w]")
    assert [editor.slice(each.range) for each in found] == ["~trad"]
    assert found[0].range.start.character == 22
    # An error inside a function says where it is called.
    found = editor.write(TEXT + "def f(~x) = ~x[t] + true\n~last[w] = f(~near)\n")
    assert codes(found) == ["E0201"]
    (note,) = found[0].related_information or ()
    assert note.message == "in this call of f"
    assert editor.slice(note.location.range) == "f(~near)"
    # Nothing is left, and then all is well again.
    assert codes(editor.write("")) == ["E0114"]
    assert editor.write(TEXT) == ()


def hover(editor: Editor, part: str, shift: int = 0) -> str:
    place = editor.at(part, shift)
    asked = types.HoverParams(editor.name, place)
    answer = editor.wait(editor.client.text_document_hover_async(asked))
    assert answer is not None
    assert isinstance(answer.contents, types.MarkupContent)
    return answer.contents.value


def test_hover_says_how_far_an_object_looks(editor: Editor) -> None:
    editor.write(TEXT)
    text = hover(editor, "~vwap[w]")
    assert "The mean price of each trade, weighted by its size." in text
    assert "- object, `f64` for each symbol\n" in text
    assert "- a cell every 1s: `TDom(-∞, ∞, 1s)`\n" in text
    assert "- looks back 1m and ahead 5s in ~trades" in text
    assert hover(editor, "⊕(+").startswith("```tilt\n⊕(sum, ~x[t-d : t])")
    assert "The mean of the rows within the last w" in hover(editor, "sma(")


def test_hover_in_a_broken_text(editor: Editor) -> None:
    editor.write(TEXT)
    editor.edit("return size > 0 ?", "return size > 0 ? ?")
    assert "looks back 1m and ahead 5s in ~trades" in hover(editor, "~vwap[w] - sma")
    editor.edit("return size > 0 ? ?", "return size > 0 ?")
    editor.edit("abs(~vwap[w]", "abs(~vwa[w]")
    text = hover(editor, "~trades[w-width")
    assert "- input, `{ price: f64, size: i64 }` for each symbol" in text


def labels(editor: Editor, position: types.Position) -> dict[str, Any]:
    asked = types.CompletionParams(editor.name, position)
    answer = editor.wait(editor.client.text_document_completion_async(asked))
    assert isinstance(answer, types.CompletionList)
    return {item.label: item for item in answer.items}


def test_completion_while_the_text_is_broken(editor: Editor) -> None:
    editor.write(TEXT)
    editor.write(TEXT + '~o[w] = "😀" == "" ? ~vw')
    items = labels(editor, editor.position(len(editor.text)))
    assert list(items) == ["~trades", "~vwap", "~near"]
    assert items["~vwap"].detail == "f64"
    edit = items["~vwap"].text_edit
    assert editor.apply([edit]) == TEXT + '~o[w] = "😀" == "" ? ~vwap'
    editor.write(TEXT + "~o[w] = ~trades[w].")
    assert list(labels(editor, editor.position(len(editor.text)))) == ["price", "size"]
    editor.write(TEXT + "~o[w] = ⊕(max, ")
    items = labels(editor, editor.position(len(editor.text)))
    assert list(items)[:3] == ["w", "width", "~trades"]
    assert items["sma"].detail == "sma(~x, w)"
    assert items["φ"].filter_text == "phi"


def define(editor: Editor, part: str, shift: int = 0) -> types.Location | None:
    asked = types.DefinitionParams(editor.name, editor.at(part, shift))
    answer = editor.wait(editor.client.text_document_definition_async(asked))
    assert answer is None or isinstance(answer, types.Location)
    return answer


def test_definitions(editor: Editor) -> None:
    editor.write(TEXT)
    for part, shift, line in (
        ("~vwap[w] - sma", 0, 7),
        ("~vwap[w] - sma", 5, 7),
        ("width : w+5s", 0, 2),
        ("value / size", 1, 8),
        ("[w] = abs", 1, 4),
    ):
        location = define(editor, part, shift)
        assert location is not None
        assert (location.uri, location.range.start.line) == (URI, line)
    location = define(editor, "sma(")
    assert location is not None
    assert location.uri.endswith("/std.tilt")
    defined = library_text().splitlines()[location.range.start.line]
    assert defined.startswith("def sma(")
    assert define(editor, "unit s") is None


def references(editor: Editor, part: str, *, declaration: bool) -> list[str]:
    asked = types.ReferenceParams(
        types.ReferenceContext(include_declaration=declaration),
        editor.name,
        editor.at(part),
    )
    answer = editor.wait(editor.client.text_document_references_async(asked))
    return [editor.slice(each.range) for each in answer or ()]


def test_references(editor: Editor) -> None:
    editor.write(TEXT)
    assert references(editor, "~vwap", declaration=True) == ["vwap"] * 2
    assert references(editor, "~vwap", declaration=False) == ["vwap"]
    assert references(editor, "unit", declaration=True) == []


def rename(editor: Editor, part: str, name: str) -> str:
    asked = types.RenameParams(
        text_document=editor.name, position=editor.at(part), new_name=name
    )
    answer = editor.wait(editor.client.text_document_rename_async(asked))
    assert answer is not None
    assert answer.changes is not None
    (edits,) = answer.changes.values()
    return editor.apply(list(edits))


def test_renaming(editor: Editor) -> None:
    editor.write(TEXT)
    assert rename(editor, "~trades", "~käufe") == (
        TEXT.replace("~trades", "~käufe").replace("input trades", "input käufe")
    )
    assert rename(editor, "size > 0", "n") == (
        TEXT.replace("    size =", "    n =")
        .replace("return size", "return n")
        .replace("value / size", "value / n")
    )
    asked = types.PrepareRenameParams(editor.name, editor.at("width : w+5s"))
    answer = editor.wait(editor.client.text_document_prepare_rename_async(asked))
    assert isinstance(answer, types.Range)
    assert editor.slice(answer) == "width"


def test_a_refusal_is_one_line(editor: Editor) -> None:
    editor.write(TEXT)
    with pytest.raises(JsonRpcException) as refused:
        rename(editor, "width : w+5s", "w")
    assert refused.value.message == (
        "width cannot be called `w`: a second `w` (line 5); choose another name"
    )
    assert refused.value.code == -32803
    asked = types.PrepareRenameParams(editor.name, editor.at("unit"))
    with pytest.raises(JsonRpcException, match="`unit` is a word of the language"):
        editor.wait(editor.client.text_document_prepare_rename_async(asked))


def format_text(editor: Editor) -> str:
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)
    asked = types.DocumentFormattingParams(editor.name, options)
    answer = editor.wait(editor.client.text_document_formatting_async(asked))
    return editor.apply(list(answer or ()))


def test_formatting(editor: Editor) -> None:
    text = TEXT.replace("    ", "\t").replace("~near[w] = ", '~near[w]="😀"==""||')
    editor.write(text)
    assert format_text(editor) == format_source(text) != text
    editor.write(format_source(text))
    assert format_text(editor) == editor.text
    editor.write(TEXT + "~last[w] = (")
    with pytest.raises(JsonRpcException, match=r"^[^\n]+$"):
        format_text(editor)


def test_the_session_ends_well(editor: Editor) -> None:
    assert editor.end() == 0


def test_bytes_of_utf_8_and_an_editor_that_just_leaves() -> None:
    with Editor([types.PositionEncodingKind.Utf8]) as session:
        assert session.capabilities.position_encoding == "utf-8"
        (wrong,) = session.open('~o[t] = "😀φ" == ~x[t]\n')
        assert (wrong.range.start.character, wrong.range.end.character) == (20, 22)
        assert session.leave() == 1
