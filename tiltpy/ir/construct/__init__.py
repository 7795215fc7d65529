"""Typed constructors: the only way that the frontend builds IR expressions.

Each checks its operands and widens them to a common type, or raises a `QueryError`.
"""
