"""`.tilt` text to surface syntax, and back in the one way to write it.

The lark grammar, the readers of its parse trees, syntax errors and the formatter.
"""
