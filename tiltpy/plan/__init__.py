"""The physical plan: the strategy that computes each object, between IR and loop IR.

`choose.py` plans the loops of sweep kernels from facts about the rows, with the reasons
for refusing more special strategies. `strategies/vector_kernel.py` gives the plan of a
vector kernel or a refusal; `vector_plan.py`, `vector_stages.py` and `cell_geometry.py`
have its geometry, `loop_cells.py` and `cell_facts.py` what is known of its cells.
`preaggregation_plan.py` plans a pre-aggregation, or raises `Misfit`. `run_plan.py`,
`key_plan.py` and `pane_limits.py` choose the kernels of a run by the numbers of rows.
"""
