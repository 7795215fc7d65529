"""Hints: what to write instead, beside an error.

One file for each kind of mistake. Reads surface syntax and raw text, never IR.
"""
