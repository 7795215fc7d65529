"""Analyses of a query, a file for each.

Constants, cuts, dominators, maps, row inputs, strictness and substitution.

Passes import them, and the API and Spark for what they need of a query. None changes a
query.
"""
