"""Tests of meaning: worked examples, the reference pages, random queries."""
