"""Reductions as aggregates: lift, combine, lower; and folds of panes.

How a kernel follows windows is its own affair.
"""
