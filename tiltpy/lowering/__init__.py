"""The plan to loop IR: one file for each strategy.

Rooms: `sweep` (the scalar kernel), `choice` (what a vector or keyed kernel computes),
then `vector` and `keyed`. No file here asks whether it should be used.
"""
