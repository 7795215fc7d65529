"""The surface syntax: a query as it was written, before names, units and types.

The syntax tree, its literals and keywords, error codes, and limits of size. The parser
and the Python builder both produce it.
"""
