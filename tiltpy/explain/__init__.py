"""Explanations of a query: its stages as text, outlines, graphs and notebook cards.

`stages.py` prints the stages; the other files show which objects refer to which.
"""
