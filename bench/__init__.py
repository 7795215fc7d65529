"""Benchmarks: seeded workloads, peers side by side, nothing committed as truth."""
