"""Engines: ways to run a query, all of them by `Engine.evaluate` over time ranges.

`local.py` runs over tables, `out_of_core.py` over inputs read batch by batch,
`partition.py` over one time partition, for `spark`. Imported by the API and `spark`.
"""
