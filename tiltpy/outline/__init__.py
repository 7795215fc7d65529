"""A query at a glance: what refers to what, as a tree, JSON, DOT, Mermaid or HTML."""
