"""The TextMate grammar, which Visual Studio Code and other editors read.

It is kept as `grammar/tilt.tmLanguage.json`; `python -m tiltpy.editors.textmate` prints
it anew.
"""

import json
import sys

from tiltpy.editors.rules import Kind, Rule, rules

SCOPES: dict[Kind, str] = {
    "comment": "comment.line.number-sign",
    "string": "string.quoted.double",
    "object": "variable.other",
    "number": "constant.numeric",
    "keyword": "keyword.control",
    "declaration": "keyword.other",
    "constant": "constant.language",
    "type": "support.type",
    "builtin": "support.function",
    "function": "entity.name.function",
    "operator": "keyword.operator",
    "punctuation": "punctuation",
    "name": "variable.parameter",
}


def textmate_grammar() -> str:
    """Format the grammar as JSON."""
    ordered = rules()
    everywhere = [_pattern(rule) for rule in ordered if rule.kind != "declaration"]
    declaration = {
        "begin": r"(?<![\w.'])input(?![\w'])",
        "beginCaptures": {"0": {"name": f"{SCOPES['keyword']}.tilt"}},
        "end": "$",
        "patterns": [_pattern(rule) for rule in ordered],
    }
    grammar = {
        "name": "tilt",
        "scopeName": "source.tilt",
        "fileTypes": ["tilt"],
        "patterns": [declaration, *everywhere],
    }
    return json.dumps(grammar, indent=2, ensure_ascii=False) + "\n"


def _pattern(rule: Rule) -> dict[str, str]:
    return {"match": rule.pattern, "name": f"{SCOPES[rule.kind]}.tilt"}


if __name__ == "__main__":
    sys.stdout.write(textmate_grammar())
