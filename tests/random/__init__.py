"""Generators of random queries, events and settings, all seeded."""
