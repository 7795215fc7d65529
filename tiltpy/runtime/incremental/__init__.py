"""Runs span by span in bounded memory: sources, buffered state, partitions.

`span_run.py` evaluates inputs that are read piece by piece; `partition_run.py`
evaluates one partition of a run for an engine such as Spark.
"""
