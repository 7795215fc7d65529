"""Reductions as aggregates: lift, combine, finalize; and folds of panes."""
