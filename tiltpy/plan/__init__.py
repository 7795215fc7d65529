"""The physical plan: the strategy that computes each object, between IR and loop IR.

`choose.py` plans the loops of sweep kernels from facts about the rows, with the reasons
for refusing more special strategies. `vector_plan.py` and `preaggregation_plan.py` plan
a whole kernel, or raise `Misfit`.
"""
