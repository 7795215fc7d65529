"""Limits of a query: every bound of breadth and depth, in one place.

A query comes from anyone, and compiling it may neither take minutes nor all memory. Up
to these limits what compiling costs grows with the size of the query; what is beyond is
refused by name before the work is done. The language reference lists them
("Limits"). How far times reach is in `types.py`: those limits are the data's.
"""

# Texts: parsing takes some 40 us a token, and a kilobyte.

MAX_TEXT = 1 << 20
"""Bytes of a text, comments and strings included."""
MAX_TOKENS = 50_000
"""Words, numbers and signs of a text, and nodes of a query made in Python."""
MAX_ERRORS = 100
"""Errors that are said of one text: a file of another language has one on each line."""
MAX_NAME = 1000
"""Characters of a name: it stands in kernels, in messages and in columns."""
MAX_STRING = 100_000
"""Characters of a string, a pattern among them."""
MAX_DIGITS = 100
"""Digits of a number or a part of a duration: Python's own arithmetic takes any, in a
time that grows with the square."""

# What a query declares: each may be in every kernel.

MAX_STATEMENTS = 1000
"""Inputs, parameters, time domains, functions, reductions, definitions: of each kind.
So many outputs, too, which are as many loops of one kernel."""
MAX_OBJECTS = 2000
"""Definitions with those that functions and blocks make of their own."""
MAX_FIELDS = 2000
"""Fields of a struct, each an array of a kernel."""
MAX_COLUMNS = 64
"""Columns of a key or an order: rows are compared by one after the other."""
MAX_PARAMETERS = 100
"""Parameters of a function."""
MAX_OPTIONS = 10_000
"""Options of one `in`: numbers are compared one by one."""

# Expressions.

MAX_DEPTH = 200
"""Levels of an expression: recursion over it must not exhaust the stack."""
MAX_CALLS = 5_000
"""Calls of functions by a query, calls inside of functions included."""
MAX_NODES = 50_000
"""Nodes of a query whose functions are written out: a call of two calls doubles it."""
MAX_ELEMENT = 10_000
"""Nodes of the element of a reduction, where no name stands for what is used twice."""

MAX_WEIGHTS = 512
"""Weights of a convolution, each a point reference."""

MAX_LAST_ROWS = 1 << 31
"""Rows of a window of `last n`."""

# Code.

MAX_FUSED = 50_000
"""Nodes of bodies that fusion tries: what is left unfused has loops of its own."""
MAX_OPERATIONS = 50_000
"""Operations of a kernel, as estimated before any code is made: some ten seconds."""
