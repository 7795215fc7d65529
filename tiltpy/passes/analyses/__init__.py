"""What passes ask about a query, without changing it.

Dominators, strictness, substitution, constants, cuts and sizes. Passes and lowering
import these; an analysis never imports a pass.
"""
