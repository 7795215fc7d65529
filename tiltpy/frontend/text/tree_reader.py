"""Parse tree -> surface syntax: the state of reading one tree, and the walk over it.

Each rule of `grammar/tilt.lark` has a function in `expression_rules.py`,
`body_rules.py` or `statement_rules.py`, which makes syntax of what the rule's children
became. lark calls them bottom-up and without recursion, so no nesting of a text can
exhaust the stack. Errors that the grammar does not exclude are collected in `errors`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lark import Token
from lark.tree import Meta, ParseTree
from lark.visitors import Transformer_NonRecursive

from tiltpy.errors import QueryError
from tiltpy.frontend.surface import syntax
from tiltpy.frontend.surface.names import RESERVED
from tiltpy.frontend.text.literals import unescape
from tiltpy.source import Source, Span

Rule = Callable[["TreeReader", Meta, list[Any]], Any]
"""Reads a node of the tree: its place, and what its children became."""


class TreeReader:
    """Reads the parse tree of a source's text from the offset `base` on.

    `poisoned` has the names of the statements that were left out for their errors,
    `reported` is how many errors statements had so far.
    """

    def __init__(self, source: Source, base: int = 0) -> None:
        self.source = source
        self.base = base
        self.errors: list[QueryError] = []
        self.poisoned: set[str] = set()
        self.reported = 0

    def apply(self, rules: Mapping[str, Rule], tree: ParseTree) -> Any:
        """Apply the rules to a tree, from the leaves up."""
        return _RuleTransformer(self, rules).transform(tree)

    def fail(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """Add an error, and go on."""
        self.errors.append(QueryError(code, message, span, hint))

    def span(self, node: Meta | Token) -> Span:
        """Find the span of a node or a token."""
        start, end = node.start_pos, node.end_pos
        assert start is not None
        assert end is not None
        return Span(self.source, self.base + start, self.base + end)

    # -- words and strings --------------------------------------------------------

    def word(self, token: Token) -> syntax.Word:
        """Read a name that may be any word; a leading `~` is dropped."""
        return syntax.Word(str(token).removeprefix("~"), self.span(token))

    def new_name(self, token: Token) -> syntax.Word:
        """Read a name that the user chooses: not a reserved word."""
        word = self.word(token)
        self.check_unreserved(word)
        return word

    def quoted_name(self, token: Token) -> syntax.Word:
        """Read a name in quotes."""
        text = self.string(token)
        if not text:
            self.fail("E0004", "an empty name", self.span(token))
        return syntax.Word(text, self.span(token))

    def string(self, token: Token) -> str:
        """Read the text that a string literal stands for."""
        span = self.span(token)
        try:
            return unescape(str(token)[1:-1], span)
        except QueryError as error:
            self.errors.append(error)
            return "?"

    def check_unreserved(self, word: syntax.Word) -> None:
        """Add an error if a name is a reserved word."""
        if word.text in RESERVED:
            message = f"`{word.text}` is a reserved word"
            self.fail("E0005", message, word.span, "choose another name")

    def check_distinct(self, words: Sequence[syntax.Word], what: str) -> None:
        """Add an error for each word that appears twice; `what` says what words are."""
        seen: set[str] = set()
        for word in words:
            if word.text in seen:
                message = f"{what} `{word.text}` appears twice"
                self.fail("E0006", message, word.span, "give it another name")
            seen.add(word.text)


class _RuleTransformer(Transformer_NonRecursive[Token, Any]):
    """Calls the function of each rule; lark finds no methods of the rules' names."""

    def __init__(self, reader: TreeReader, rules: Mapping[str, Rule]) -> None:
        super().__init__(visit_tokens=False)
        self._reader = reader
        self._rules = rules

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        return self._rules[data](self._reader, meta, children)
