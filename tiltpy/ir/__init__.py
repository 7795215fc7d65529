"""The functional IR: typed expressions over temporal objects, the logical plan.

`nodes.py` defines it, `traversal.py` walks it, `construct` builds typed nodes, `print`
writes queries as text, and `verify` checks every invariant.
"""
