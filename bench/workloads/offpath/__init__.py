"""Workloads that no kernel is tuned for: the family `offpath`.

Shapes that users write beside those of the table: gaps, ties, windows as a whole, many
outputs, overlapping events, many keys.
"""
