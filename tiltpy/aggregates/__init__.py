"""Reductions as aggregates: lift, combine, lower; and folds of panes.

What a state is and how two are merged. How windows are followed is the kernels' affair.
"""
