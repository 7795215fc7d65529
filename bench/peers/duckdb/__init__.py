"""The workloads as idiomatic SQL over tables of DuckDB, on all cores."""
