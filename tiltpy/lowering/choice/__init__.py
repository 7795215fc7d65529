"""What a vector kernel or one by key can compute of a query, and in which order."""
