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
