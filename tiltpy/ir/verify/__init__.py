"""The verifier: every invariant of the IR and the typing rule of every node.

`invariants.verify` runs after each pass of the pipeline that changes the query.
"""
