"""What queries mean: worked examples, the reference pages, random queries."""
