"""What other languages call the things of this one: SQL, pandas, Polars, kdb, C.

Each table leads from their words to what is written here.
"""

_PREVIOUS = "write ~x[t - 10], the value 10 ticks before"
_OTHERWISE = "write x != φ ? x : otherwise"
_CHOICE = "write condition ? value : otherwise"
_EXISTS = "write x == φ or x != φ"
_DEFINE = "define an object, ~y[t] = ..., and write output ~y"
_CAST = "a cast is written like a call: f32(x)"
_COMMENT = "a comment starts with #, on each of its lines"

SYMBOLS_ELSEWHERE = {
    "===": "write ==",
    "!==": "write !=",
    "<>": "write !=",
    "=": "a comparison is written ==",
    ":=": "write =",
    "=<": "write <=",
    "=>": "write >=",
    "**": "write pow(a, b)",
    "^": "write pow(a, b)",
    "&": "write && for and",
    "|": "write || for or",
    "<<": "write a * pow(2, b)",
    ">>": "write a // 2, for each bit once",
    "++": "write x + 1; nothing is changed in place",
    "+=": "write ~y[t] = ~x[t] + ...; nothing is changed in place",
    "-=": "write ~y[t] = ~x[t] - ...; nothing is changed in place",
    "??": _OTHERWISE,
    "?:": _OTHERWISE,
    "::": _CAST,
    "->": "write name = value for a field, condition ? value : otherwise for a choice",
    "×": "write *",
    "·": "write *",
    "⋅": "write *",
    "÷": "write /",
    "−": "write -",
    "–": "write -",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "∧": "write &&",
    "∨": "write ||",
    "¬": "write !",
    "√": "write sqrt(x)",
    "²": "write x * x",
    "³": "write pow(x, 3)",
    "Σ": "write sum(~x[t - 10 : t])",
    "∑": "write sum(~x[t - 10 : t])",
    "∅": "write φ",
    "\\": "a line goes on by itself, after an operator or in brackets",
}
"""Operators, of up to three tokens."""

KEYWORDS_ELSEWHERE = {
    "and": "write &&",
    "or": "write ||",
    "not": "write !",
    "xor": "write a != b",
    "mod": "write %",
    "div": "write //",
    "is": _EXISTS,
    "isnull": _EXISTS,
    "notnull": _EXISTS,
    "between": "write a <= x && x <= b",
    "as": _CAST,
    "if": "write condition ? value : φ",
    **dict.fromkeys(("then", "else", "elif", "when", "end", "case"), _CHOICE),
    "where": "write condition ? value : φ",
    "having": "write condition ? value : φ",
    **dict.fromkeys(("select", "from", "print", "show", "emit"), _DEFINE),
    **dict.fromkeys(("group", "partition", "over", "by"), "reduce windows of time, "
        "like sum(~x[t - 1h : t])"),
    **dict.fromkeys(("let", "var", "val", "create", "stream"), "write ~y[t] = ..."),
    **dict.fromkeys(("const", "set", "define"), "write param w : duration = 10s"),
    **dict.fromkeys(("import", "include", "use"), "a query is one text; leave it out"),
    "return": "`return` ends a block: ~y[t] = { ... return ... }",
    "lambda": "reductions have names, like ⊕(sum, ~x[t - 10 : t])",
}  # fmt: skip
"""Words, in lower case."""

LIFETIMES_ELSEWHERE = {
    **dict.fromkeys(("on", "at", "ts", "timestamp", "date"), "write time Column"),
    **dict.fromkeys(("until", "hold", "held", "ffill", "last"), "write until_next"),
    **dict.fromkeys(("every", "period", "freq", "rate"), "write sampled 1s"),
    **dict.fromkeys(("points", "instant", "event", "events"), "write point"),
    **dict.fromkeys(("sort", "sorted"), "write order column"),
    **dict.fromkeys(("key", "partition", "group"), "run the query once per key"),
}
"""Words behind an input's type."""

_WINDOWED = "write mean(~x[t - 10 : t]), or another reduction of a window"
METHODS_ELSEWHERE = {
    **dict.fromkeys(
        ("rolling", "resample", "groupby", "group_by", "ewm", "agg", "expanding",
         "group_by_dynamic", "over", "window"), _WINDOWED,
    ),
    **dict.fromkeys(("shift", "lag", "lead"), _PREVIOUS),
    "diff": "write ~x[t] - ~x[t - 10]",
    **dict.fromkeys(("fillna", "fill_null"), _OTHERWISE),
    **dict.fromkeys(("isna", "isnull", "is_null", "notna", "is_not_null"), _EXISTS),
    **dict.fromkeys(("astype", "cast"), _CAST),
    "between": "write a <= x && x <= b",
    **dict.fromkeys(("where", "filter", "mask"), "write condition ? value : φ"),
}  # fmt: skip
"""Methods of data frames."""
