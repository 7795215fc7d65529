"""The language server: what editors ask about the text of a query.

    text -> analysis     statements, types, errors, and what each name stands for
         -> diagnostics, hover, completion, definitions, renaming, formatting

All but `server.py` knows nothing of the protocol: places are offsets of characters.
`server.py` is the only importer of pygls.
"""
