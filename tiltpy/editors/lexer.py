"""The lexer for Pygments: `pygmentize -l tilt`, Sphinx, notebooks."""

from pygments.lexer import RegexLexer, default
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
    _TokenType,
)

from tiltpy.editors.rules import Kind, rules

TOKENS: dict[Kind, _TokenType] = {
    "comment": Comment.Single,
    "string": String.Double,
    "object": Name.Variable,
    "number": Number,
    "keyword": Keyword,
    "declaration": Keyword.Declaration,
    "constant": Keyword.Constant,
    "type": Keyword.Type,
    "builtin": Name.Builtin,
    "function": Name.Function,
    "operator": Operator,
    "punctuation": Punctuation,
    "name": Name,
}
_ALL = [(rule.kind, rule.pattern, TOKENS[rule.kind]) for rule in rules()]


class TiltLexer(RegexLexer):
    """Queries in the tilt language."""

    name = "tilt"
    url = ""
    aliases = ("tilt",)
    filenames = ("*.tilt",)
    tokens = {  # noqa: RUF012 - as Pygments asks for it
        "root": [
            (r"\s+", Whitespace),
            (r"(?<![\w.'])input(?![\w'])", Keyword, "declaration"),
            *(
                (pattern, token)
                for kind, pattern, token in _ALL
                if kind != "declaration"
            ),
        ],
        "declaration": [
            (r"[^\S\n]+", Whitespace),
            *((pattern, token) for _, pattern, token in _ALL),
            default("#pop"),
        ],
    }
