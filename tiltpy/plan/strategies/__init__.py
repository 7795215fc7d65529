"""One strategy a file: the facts of a loop in, a plan or a refusal out.

`choose.py` asks them in order, most special first.
"""
