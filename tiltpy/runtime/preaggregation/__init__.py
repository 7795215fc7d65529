"""Windows by key without a group-by: rows are aggregated by pane and key as they come.

`run.py` is the entry; it declines (`Grouping`) where rows must be grouped after all.
"""
