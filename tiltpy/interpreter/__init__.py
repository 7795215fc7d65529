"""The oracle: the meaning of a query, evaluated cell by cell.

Independent of passes, lowering and the runtime, and slow. Tests compare every kernel
with it, and `check_reductions` tries user-defined reductions with it. `evaluate.py` and
`keys.py` are the entries.
"""
