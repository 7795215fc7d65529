"""A query to a grid kernel, which computes `LANES` neighbouring grid points at once."""

from collections.abc import Mapping

from tiltpy.abi import Lattice, Layout
from tiltpy.ir.nodes import Query
from tiltpy.lowering.lower import Plan


def lower_grid(
    query: Query,
    layouts: Mapping[str, Layout],
    lattices: Mapping[str, Lattice],
    *,
    fused: bool = True,
) -> Plan | None:
    """The kernel for rows on these lattices; None where the query has no such form."""
    del query, layouts, lattices, fused
    return None
