"""Cursor loops for the workloads off the path: the one that one writes for each.

`table.py` says which stands for which, `calls.py` how they are called.
"""
