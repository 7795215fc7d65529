"""The two ways in: the `.tilt` language and the Python builder, both to the same IR.

Rooms, each of which imports only those before it: `surface` (the syntax tree and
literals), `hints` (what to write instead), `text` (the parser and the formatter),
`elaboration` (names and types, to IR), `python` (the builder). The only importer of
lark; `parse.py` is the entry for text.
"""
