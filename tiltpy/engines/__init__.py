"""Engines: ways to run a query.

`local.py` runs over tables, `out_of_core.py` over inputs read batch by batch,
`partition.py` over one time partition, for `spark`. Outputs without keys are computed
by `Engine.evaluate`, time range by time range; those by key by `runtime.keyed` and
`runtime.preaggregation`. Imported by the API, `check_reductions` and `spark`.
"""
