"""Functional IR to loop IR.

Rooms, each of which imports only those before it: `emit` (values, rows, outputs),
`aggregates` (lift, combine, lower), `sweep` (the scalar kernel), `choice` (what a
vector or keyed kernel computes), then `vector` and `keyed`.
"""
