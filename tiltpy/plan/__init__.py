"""The physical plan: which strategy computes each object, between IR and loop IR.

A plan is data: facts about the rows go in, a strategy for each loop and window comes
out, and with it why the more special ones were refused.
"""
