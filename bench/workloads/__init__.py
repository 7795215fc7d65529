"""Workloads: queries as text, and the seeded data that they run over.

Nothing here knows how a workload is run, or by whom.
"""
