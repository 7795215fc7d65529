"""The one definition of a snapshot buffer's layout and of a kernel's signature.

A kernel is `void kernel(i64 *slots, i64 *stop)`: one array of 64-bit slots that holds
numbers and addresses, and the address of the stop flag that it polls. The compiler
lists what it wants in which slot (`Slot`), the runtime fills them in, and both read the
meaning here.

A *snapshot buffer* holds the rows of one temporal object in order of start, then tie
order. `n` rows; row `i` is the snapshot (or event) `(start_i, end_i]` with one value
per payload column. Its time layout is one of four:

    sampled      start_i = start + i * period,  end_i = start_i + period
    contiguous   start_0 = start, start_i = end_{i-1};  ends[n]
    intervals    starts[n], ends[n], end_{i-1} <= start_i
    overlapping  starts[n] in order, ends[n] any; `fifo` if the ends are in order too

A column is a plain array of its type (bool: one byte, 0 or 1). A nullable column has a
validity bitmap besides (Arrow's: bit `offset + i`, 1 is valid). In a scalar payload a
null row is no event at all; in a struct a row stands, and its null fields are φ.
Buffers have at least one readable row, even when `n` is 0.

A string is a dictionary code: its position in a dictionary of all strings of the run's
inputs and of the query. If the query compares strings by order, the codes are in the
order of the strings' UTF-8 bytes. What a kernel must know of certain strings stands in
slots that are named after them: the same machine code serves any data.
"""
