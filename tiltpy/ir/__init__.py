"""The functional IR: what a query means, before it is decided how it is computed.

`nodes.py` defines it, `traversal.py` walks it, `construct` builds typed nodes, `print`
writes queries as text, and `verify` checks every invariant.
"""
