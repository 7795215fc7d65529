"""Typed constructors of every IR expression that has operands.

Each checks its operands and widens them to a common type, or raises a `QueryError`. The
frontend builds leaves, references and names itself.
"""
