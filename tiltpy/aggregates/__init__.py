"""Reductions as aggregates: lift, combine, lower; and folds of panes."""
