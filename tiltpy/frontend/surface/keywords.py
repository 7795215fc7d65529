"""The words that the language keeps for itself, and what it does not have yet."""

RESERVED = (
    "unit", "param", "input", "output", "def", "reduction", "return",
    "for", "in", "if", "with", "true", "false", "phi", "φ", "inf", "nan",
    "reduce", "TDom",
)  # fmt: skip
"""Not for locals, parameters and time variables. They stay legal as fields, columns
and temporal objects, which a dot, a declaration or `~` tells apart."""
