"""Runs of compiled queries: Arrow in, chunks on workers, Arrow out.

Only `string_predicates` and `spark` import pyarrow besides. `row_access.py` reads
single rows. The sub-packages import only those before them: `arrays` and `concurrency`,
`arrow`, `ingest`, `execution`, `results`; then `keyed`, `preaggregation` and
`incremental`. `engines` combines them.
"""
