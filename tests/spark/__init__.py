"""Tests of the way to Spark: one process of their own, and one session in it."""
