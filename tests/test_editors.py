"""Colours for queries: they come from the grammar, and all of a text has one."""

import json
import re
import tomllib
from importlib import import_module
from typing import Any

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String

from tests import ROOT, query_texts
from tiltpy.editors.lexer import TiltLexer
from tiltpy.editors.rules import keywords, rules
from tiltpy.editors.textmate import textmate_grammar
from tiltpy.frontend.surface.names import RESERVED
from tiltpy.frontend.text.grammar import grammar_text, terminals

KEPT = ROOT / "grammar" / "tilt.tmLanguage.json"
EXTENSION = ROOT / "editors" / "vscode"


def colours(text: str) -> list[tuple[Any, str]]:
    """The tokens of a text, without blanks."""
    found = TiltLexer(stripnl=False, ensurenl=False).get_tokens(text)
    return [(kind, value) for kind, value in found if value.strip()]


def test_the_kept_grammar_is_that_of_the_language(*, update_golden: bool) -> None:
    copy = EXTENSION / manifest()["contributes"]["grammars"][0]["path"]
    for path in (KEPT, copy):
        if update_golden:
            path.write_text(textmate_grammar())
        assert path.read_text() == textmate_grammar(), (
            f"{path}: make it anew: pytest --update-golden tests/test_editors.py"
        )


def manifest() -> Any:
    return json.loads((EXTENSION / "package.json").read_text())


def test_the_extension_has_what_its_manifest_names() -> None:
    contributed = manifest()["contributes"]
    (language,), (grammar,) = contributed["languages"], contributed["grammars"]
    assert language["id"] == grammar["language"] == TiltLexer.aliases[0]
    assert [f"*{end}" for end in language["extensions"]] == [*TiltLexer.filenames]
    for path in (language["configuration"], grammar["path"], manifest()["main"]):
        assert (EXTENSION / path).is_file()
    brackets = json.loads((EXTENSION / language["configuration"]).read_text())
    assert brackets["comments"] == {"lineComment": "#"}
    code = (EXTENSION / manifest()["main"]).read_text()
    for name in manifest()["dependencies"]:
        assert f'require("{name}/' in code
    (command,) = contributed["commands"]
    assert f'"{command["command"]}"' in code
    (setting,) = contributed["configuration"]["properties"]
    assert f'"{setting}"' in code
    assert contributed["configuration"]["properties"][setting]["default"] == [
        "tilt",
        "lsp",
    ]


def test_every_word_of_the_grammar_is_a_keyword() -> None:
    flags = re.MULTILINE
    written = set(re.findall(r"^[A-Z_]+(?:\.\d)?: /(\w+)\(\?!", grammar_text(), flags))
    assert set(keywords()) == written
    assert {"unit", "def", "return", "until_next", "by"} <= written
    for word in written:
        kinds = {kind for kind, value in colours(f"input {word}") if value == word}
        assert kinds <= {Keyword, Keyword.Declaration}
        in_text = {value: kind for kind, value in colours(f"a {word} b")}
        assert (in_text[word] is Keyword) == (word in RESERVED)


def test_every_sign_of_the_grammar_has_a_colour() -> None:
    for name, pattern in terminals():
        sign = re.sub(r"\\(.)", r"\1", pattern)
        if re.fullmatch(r"\W{1,2}", sign):
            ((_, value),) = colours(sign)
            assert value == sign, name


def test_a_text_in_colours() -> None:
    text = (
        "unit s # the tick\n"
        'input point : { "a b": f64, in: i64 } time point until_next max 1h30m\n'
        "t = TDom(-∞, ∞, .5s)\n"
        "~x'[t] = sma(~point[t-10 : t].in) >= 2e3 && φ == max(~point[t : t+1]) ? 1 : 2"
    )
    found = colours(text)
    assert all(kind is not Error for kind, _ in found)

    def kinds(value: str) -> list[Any]:
        return [kind for kind, text in found if text == value]

    assert kinds("unit") == [Keyword]
    assert kinds("# the tick") == [Comment.Single]
    assert kinds('"a b"') == [String.Double]
    assert kinds("f64") == [Keyword.Type]
    assert kinds("in") == [Keyword, Name]  # a field behind a dot is no keyword
    assert kinds("point")[-1] is Keyword.Declaration
    assert kinds("max") == [Keyword.Declaration, Name.Builtin]
    assert kinds("1h30m") == kinds("2e3") == kinds(".5s") == [Number]
    assert kinds("TDom") == [Name.Builtin]
    assert kinds("sma") == [Name.Function]
    assert kinds("~x'") == [Name.Variable]
    assert kinds("φ") == [Keyword.Constant]
    assert kinds(">=") == kinds("&&") == [Operator]


TEXTS = list(query_texts.ALL)
TEXTS += [p.read_text() for p in sorted((ROOT / "examples/queries").glob("*.tilt"))]
TEXTS += [(ROOT / "grammar/std.tilt").read_text()]


@pytest.mark.parametrize("text", TEXTS)
def test_all_of_a_query_has_a_colour(text: str) -> None:
    found = list(TiltLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(value for _, value in found) == text
    assert Error not in {kind for kind, _ in found}


def test_both_kinds_of_grammars_have_the_same_rules() -> None:
    everywhere = json.loads(KEPT.read_text())["patterns"]
    inside = everywhere[0]["patterns"]
    assert [one["match"] for one in inside] == [rule.pattern for rule in rules()]
    assert [one["match"] for one in everywhere[1:]] == [
        rule.pattern for rule in rules() if rule.kind != "declaration"
    ]
    assert all(one["name"].endswith(".tilt") for one in inside)


def test_pygments_finds_the_lexer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    place = project["entry-points"]["pygments.lexers"]["tilt"]
    module, _, name = place.partition(":")
    assert getattr(import_module(module), name) is TiltLexer
    assert (TiltLexer.aliases, TiltLexer.filenames) == (("tilt",), ("*.tilt",))
