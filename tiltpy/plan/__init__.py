"""The physical plan: which strategy computes each object, between IR and loop IR.

`costs.py` holds the numbers that decide.
"""
