"""`.tilt` text to surface syntax, and back to text in canonical format.

The lark grammar, the readers of its parse trees, syntax errors and the formatter.
"""
