"""Arrow in, chunks on workers, Arrow out. The only importer of pyarrow.

`run.py` runs a query over data in memory, `row_access.py` reads single rows. The rooms,
each of which imports only those before it: `arrays` and `concurrency`, `arrow`,
`ingest`, `execution`, `results`; then `keyed`, `preaggregation` and `incremental`.
"""
