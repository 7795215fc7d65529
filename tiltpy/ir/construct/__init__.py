"""Typed constructors: the only way that the frontend builds IR expressions.

Each checks its operands, widens them to a common type, and names the mistake if there
is one.
"""
