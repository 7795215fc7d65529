"""The words that the language keeps for itself, and what it does not have yet."""

RESERVED = (
    "unit", "param", "input", "output", "def", "reduction", "return",
    "for", "in", "if", "with", "true", "false", "phi", "φ", "inf", "nan",
    "reduce", "TDom",
)  # fmt: skip
"""Not for locals, parameters and time variables. They stay legal as fields, columns
and temporal objects, which a dot, a declaration or `~` tells apart."""

MISSING_FUNCTIONS = {
    **dict.fromkeys(
        ("starts_with", "ends_with", "contains", "matches"),
        "strings are not in this version; compare them before they come in",
    ),
}
"""Callees that later versions will know, and what to say meanwhile."""

MISSING_TYPES = ("string",)
"""Types whose payloads later versions will know."""

_PREVIOUS = "write ~x[t - 10], the value 10 ticks before"
_OTHERWISE = "write x != φ ? x : otherwise"
_CHOICE = "write condition ? value : otherwise"
FUNCTIONS_ELSEWHERE = {
    **dict.fromkeys(("avg", "average"), "write mean"),
    **dict.fromkeys(("stddev", "stdev", "stddev_pop"), "write std"),
    **dict.fromkeys(("stddev_samp", "std_samp"), "write std(..., ddof=1)"),
    **dict.fromkeys(("variance", "var_pop"), "write var"),
    **dict.fromkeys(("len", "size", "length"), "write count"),
    **dict.fromkeys(("n_unique", "count_distinct", "distinct"), "write nunique"),
    **dict.fromkeys(
        ("percentile", "percentile_cont"), "write quantile(~x[t - 10 : t], 0.9)"
    ),
    **dict.fromkeys(("top_k", "nlargest", "top"), "write topk(~x[t - 10 : t], 3)"),
    **dict.fromkeys(("lag", "lead", "shift", "prev", "previous"), _PREVIOUS),
    **dict.fromkeys(("diff", "delta"), "write ~x[t] - ~x[t - 10]"),
    **dict.fromkeys(("coalesce", "ifnull", "nvl", "fillna", "fill_null"), _OTHERWISE),
    **dict.fromkeys(("if", "iff", "iif", "case", "when", "where"), _CHOICE),
    **dict.fromkeys(("isnull", "is_null", "isna"), "write x == φ"),
    **dict.fromkeys(("float", "double"), "write f64"),
    **dict.fromkeys(("int", "integer", "long"), "write i64"),
    "prod": "write product",
    "ln": "write log",
    "power": "write pow",
    "isnan": "write is_nan",
}
"""What functions of other systems are here."""

NAMES_ELSEWHERE = {
    **dict.fromkeys(("null", "NULL", "none", "None", "nil", "NA"), "write φ"),
    **dict.fromkeys(("NaN", "NAN"), "write nan"),
    **dict.fromkeys(("Inf", "infinity", "Infinity"), "write inf"),
    **dict.fromkeys(("True", "TRUE"), "write true"),
    **dict.fromkeys(("False", "FALSE"), "write false"),
}
"""What constants of other systems are here."""

TYPES_ELSEWHERE = {
    **dict.fromkeys(("float", "double", "Float64", "float64"), "write f64"),
    **dict.fromkeys(("float32", "Float32", "real"), "write f32"),
    **dict.fromkeys(("int", "integer", "long", "int64", "Int64"), "write i64"),
    **dict.fromkeys(("int32", "Int32"), "write i32"),
    **dict.fromkeys(("boolean", "Boolean"), "write bool"),
}
"""What types of other systems are here."""
