"""The frontend: the `.tilt` language and the Python builder, both to the same IR.

Its sub-packages import only those before them: `surface` (the syntax tree and
literals), `hints` (what to write instead), `text` (the parser and the formatter),
`elaboration` (names and types, to IR), `python` (the builder). The only importer of
lark; `parse.py` is the entry for text.
"""
