"""Hints of errors, which say how to correct a query.

A file for each kind of mistake. They read surface syntax and raw text, never IR.
"""
