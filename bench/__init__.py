"""How fast is it? Seeded workloads, peers side by side, nothing committed as truth."""
