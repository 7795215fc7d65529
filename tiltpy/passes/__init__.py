"""The query optimizer: a file for each pass, which maps a `Query` to a `Query`.

Passes of `PIPELINE` are optional. `flatten_structs`, `represent` and
`resolve_boundaries` always run. `coarsen_domains` is not in the pipeline: it takes the
grids of the data, too, and runs before a vector kernel is lowered. `operation_count`
estimates the code of a query and refuses too much.
"""
