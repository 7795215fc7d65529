"""The workloads as idiomatic expressions over frames of Polars, on all cores."""
