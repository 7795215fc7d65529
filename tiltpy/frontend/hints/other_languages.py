"""Words of other languages (SQL, pandas, Polars, kdb, C) and what is written here.

Each table maps their spelling to a hint.
"""

_AMONG = 'write x in ("view", "click")'
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
    "=~": "write matches(x, ...)",
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
    "in": "write in",
    "mod": "write %",
    "div": "write //",
    "is": _EXISTS,
    "isnull": _EXISTS,
    "notnull": _EXISTS,
    "between": "write a <= x && x <= b",
    "as": _CAST,
    "like": "write starts_with, ends_with, contains or matches",
    "if": "write condition ? value : φ",
    **dict.fromkeys(("then", "else", "elif", "when", "end", "case"), _CHOICE),
    "where": "write condition ? value : φ",
    "having": "write condition ? value : φ",
    **dict.fromkeys(("select", "from", "print", "show", "emit"), _DEFINE),
    **dict.fromkeys(("let", "var", "val", "create", "stream"), "write ~y[t] = ..."),
    **dict.fromkeys(("const", "set", "define"), "write param w : duration = 10s"),
    **dict.fromkeys(("import", "include", "use"), "a query is one text; leave it out"),
    **dict.fromkeys(("function", "func", "fn", "macro"), "write def f(~v) = ..."),
    "join": "write ~z[t] = ~x[t] + ~y[t]; objects meet wherever both are read",
    "return": "`return` ends a block: ~y[t] = { ... return ... }",
    "lambda": "reductions have names, like ⊕(sum, ~x[t - 10 : t])",
}  # fmt: skip
"""Words, in lower case."""

LIFETIMES_ELSEWHERE = {
    **dict.fromkeys(("ts", "timestamp", "date"), "write time Column"),
    **dict.fromkeys(("until", "hold", "held", "ffill", "last"), "write until_next"),
    **dict.fromkeys(("every", "period", "freq", "rate"), "write sampled 1s"),
    **dict.fromkeys(("points", "instant", "event", "events"), "write point"),
    **dict.fromkeys(("sort", "sorted"), "write order column"),
}
"""Words behind an input's type."""

_KEYED = "an input has keys, and all that is made of it: input x by symbol"
_WINDOWED = "write mean(~x[t - 10 : t]), or another reduction of a window"
METHODS_ELSEWHERE = {
    **dict.fromkeys(
        ("rolling", "resample", "ewm", "agg", "expanding", "group_by_dynamic",
         "window"), _WINDOWED,
    ),
    **dict.fromkeys(("groupby", "group_by", "over", "partition_by"), _KEYED),
    **dict.fromkeys(("shift", "lag", "lead"), _PREVIOUS),
    "diff": "write ~x[t] - ~x[t - 10]",
    **dict.fromkeys(("fillna", "fill_null"), _OTHERWISE),
    **dict.fromkeys(("isna", "isnull", "is_null", "notna", "is_not_null"), _EXISTS),
    **dict.fromkeys(("astype", "cast"), _CAST),
    **dict.fromkeys(("isin", "is_in"), _AMONG),
    "between": "write a <= x && x <= b",
    **dict.fromkeys(("where", "filter", "mask"), "write condition ? value : φ"),
}  # fmt: skip
"""Methods of data frames."""

FUNCTIONS_ELSEWHERE = {
    **dict.fromkeys(("avg", "average"), "write mean"),
    **dict.fromkeys(("stddev", "stdev", "stddev_pop", "sd", "dev"), "write std"),
    **dict.fromkeys(("stddev_samp", "std_samp"), "write std(..., ddof=1)"),
    **dict.fromkeys(("variance", "var_pop"), "write var"),
    "var_samp": "write var(..., ddof=1)",
    **dict.fromkeys(("len", "size", "length", "cnt", "count_star"), "write count"),
    **dict.fromkeys(("n_unique", "count_distinct"), "write nunique"),
    "distinct": "write nunique of a window, or distinct ~y[t] = ... for a timeline",
    **dict.fromkeys(("rle", "rle_id", "state_agg", "compact_state_agg", "timeline",
        "state_duration", "stateduration", "heartbeat_agg", "live_ranges"),
        "write distinct ~y[t] = ..., and start(~y[t]) or end(~y[t])"),
    **dict.fromkeys(("percentile", "percentile_cont", "percentile_disc"),
        "write quantile(~x[t - 10 : t], 0.9)"),
    **dict.fromkeys(("top_k", "nlargest", "top"), "write topk(~x[t - 10 : t], 3)"),
    **dict.fromkeys(("minimum", "low", "lowest"), "write min"),
    **dict.fromkeys(("maximum", "high", "highest"), "write max"),
    **dict.fromkeys(("prod", "prd"), "write product"),
    **dict.fromkeys(("first_value", "earliest"), "write first"),
    **dict.fromkeys(("last_value", "latest"), "write last"),
    **dict.fromkeys(("some", "bool_or"), "write any"),
    **dict.fromkeys(("every", "bool_and"), "write all"),
    **dict.fromkeys(("cumsum", "cumulative_sum", "running_sum", "sums"),
        "write sum(~x[t - 10 : t]); a window has one length"),
    **dict.fromkeys(("if", "case", "switch", "match"), _CHOICE),
    **dict.fromkeys(("upper", "lower", "casefold"),
        'write matches(x, "(?i)^view$"), which does not look at case'),
    **dict.fromkeys(("trim", "strip", "concat", "substr",
        "substring", "replace", "split", "format"),
        "strings are as they come in; change the column before"),
    **dict.fromkeys(("is_null", "isna", "null", "isnull"), "write x == φ"),
    **dict.fromkeys(("notnull", "notna", "is_not_null"), "write x != φ"),
    **dict.fromkeys(("not",), "write !x"),
    **dict.fromkeys(("float", "double", "tofloat", "to_float"), "write f64"),
    **dict.fromkeys(("int", "integer", "long", "toint", "to_int"), "write i64"),
    **dict.fromkeys(("boolean",), "write bool"),
    **dict.fromkeys(("ln", "loge"), "write log"),
    **dict.fromkeys(("power", "expt"), "write pow"),
    **dict.fromkeys(("ceiling",), "write ceil"),
    **dict.fromkeys(("truncate", "fix"), "write trunc"),
    **dict.fromkeys(("fabs", "absolute"), "write abs"),
    **dict.fromkeys(("sgn", "signum"), "write sign"),
    **dict.fromkeys(("square", "sqr"), "write x * x"),
    **dict.fromkeys(("mod", "fmod"), "write a % b"),
    **dict.fromkeys(("startswith",), 'write starts_with(x, "view")'),
    **dict.fromkeys(("endswith",), 'write ends_with(x, "view")'),
    **dict.fromkeys(("strpos", "instr", "has", "like"), 'write contains(x, "view")'),
    **dict.fromkeys(("regexp_matches", "rlike", "regexp"), 'write matches(x, "^view")'),
    **dict.fromkeys(("isin", "is_in"), _AMONG),
    **dict.fromkeys(("str", "text", "varchar", "to_string"),
        "nothing becomes a string; compare it as what it is"),
    "isnan": "write is_nan",
    "isinf": "write is_inf",
    "isfinite": "write is_finite",
    **dict.fromkeys(("date", "timestamp", "datetime", "to_datetime", "to_date"),
        'write time("2024-01-01")'),
    **dict.fromkeys(("now", "today", "current_timestamp", "getdate"),
        "write t, the time at which the object is evaluated"),
    **dict.fromkeys(("hour", "hours"), "write duration(t) % 1d // 1h"),
    **dict.fromkeys(("minute", "minutes"), "write duration(t) % 1h // 1m"),
    **dict.fromkeys(("second", "seconds"), "write duration(t) % 1m // 1s"),
    **dict.fromkeys(("dayofweek", "weekday", "day_of_week"),
        "write (duration(t) // 1d + 3) % 7, which is 0 on Mondays"),
    **dict.fromkeys(("random", "rand"), "a query gives the same result on every run"),
    **dict.fromkeys(("groupby", "group_by", "partition_by", "over"), _KEYED),
    "key": "a key that is read is a field too: input x by id : { id: i64, v: f64 }",
    "print": _DEFINE,
}  # fmt: skip
"""Functions, in lower case."""

NAMES_ELSEWHERE = {
    **dict.fromkeys(("null", "none", "nil", "na", "undefined", "missing"), "write φ"),
    "nan": "write is_nan(x), or nan",
    **dict.fromkeys(("infinity",), "write inf"),
    "inf": "write inf",
    "true": "write true",
    "false": "write false",
    **dict.fromkeys(("pi", "π"), "write 3.141592653589793"),
    "e": "write 2.718281828459045",
    "now": "write t, the time at which the object is evaluated",
}
"""Constants, in lower case."""

TYPES_ELSEWHERE = {
    **dict.fromkeys(("float", "double", "float64", "number", "numeric", "real64"),
        "write f64"),
    **dict.fromkeys(("float32", "real", "single"), "write f32"),
    **dict.fromkeys(("int", "integer", "long", "int64", "bigint"), "write i64"),
    "int32": "write i32",
    **dict.fromkeys(("int16", "short", "smallint"), "write i16"),
    **dict.fromkeys(("int8", "byte", "tinyint"), "write i8"),
    **dict.fromkeys(("uint8",), "write u8"),
    **dict.fromkeys(("uint16",), "write u16"),
    **dict.fromkeys(("uint32",), "write u32"),
    **dict.fromkeys(("uint64", "unsigned"), "write u64"),
    **dict.fromkeys(("str", "text", "varchar", "utf8", "char", "symbol",
        "sym", "categorical", "enum"), "write string"),
    **dict.fromkeys(("date", "timestamp", "datetime", "datetime64"), "write time"),
    **dict.fromkeys(("timedelta", "interval", "period"), "write duration"),
    "boolean": "write bool",
    "decimal": "write f64; decimals are rounded to it",
}  # fmt: skip
"""Types, in lower case."""
