"""Explanations of a query: its stages as text, outlines, graphs and notebook cards.

`report.py` prints the stages of a query over data, `stages.py` those of one combination
of layouts; the other files show which objects refer to which.
"""
