"""Building blocks of every kernel: slots, values, row access and output arrays.

Functional expressions and the rows of objects become loop IR here, for any loop.
"""
