"""Tests of the Spark engine: one process of their own, and one session in it."""
