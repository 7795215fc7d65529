"""Queries in Python: sources, expressions and functions that write surface syntax.

`builder.py` is the entry; elaboration is the same as for text.
"""
