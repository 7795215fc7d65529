"""The workloads off the path as idiomatic expressions, where there is one."""
