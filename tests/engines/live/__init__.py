"""Tests of live sessions' engine."""
