"""What becomes of a query: every stage as text, outlines, graphs and notebook cards.

`stages.py` prints the stages; the other files draw what refers to what.
"""
