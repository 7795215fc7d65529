"""From a bound frame to events.

Chooses columns, reads times, sorts rows, groups them by key, drops nulls and applies
the lifetime. `read_input.py` says the order of the steps. Pre-aggregation and
incremental runs take single steps instead.
"""
