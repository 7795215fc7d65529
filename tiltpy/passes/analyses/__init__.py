"""Analyses of a query: dominators, strictness, substitution, constants, cuts and sizes.

Passes import them, and the API and Spark for what they need of a query. None changes a
query.
"""
