"""The state of a session between two calls: saved as bytes, and gone on from.

It holds rows that are still needed, open snapshots, how far each output is, and states
of windows without a bound. All else follows from the query. Floats of windows with a
bound are added up alike wherever a run began, so a session that is resumed goes on to
the same bits.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from tiltpy.engines.live.session import LiveEngine, SessionStep
from tiltpy.errors import TiltError
from tiltpy.ir.nodes import Query
from tiltpy.ir.print.query import format_query
from tiltpy.runtime.saved.saved_bytes import read_state, write_state


def save_session(engine: LiveEngine) -> bytes:
    """Save the state of a session between two calls."""
    engine.evict(thoroughly=True)
    return write_state(
        {
            "query": fingerprint(engine.query),
            "options": list_options(engine),
            "steps": engine.steps,
            "outputs": {
                name: (output.start, output.done, output.finished)
                for name, output in engine.outputs.items()
            },
            "sources": {n: source.save() for n, source in engine.sources.items()},
            "inputs": {name: held.save() for name, held in engine.inputs.items()},
            "parts": [part.save() for part in engine.parts] if engine.inputs else [],
        }
    )


def restore_session(engine: LiveEngine, saved: bytes, name: str = "resume") -> None:
    """Have a new session go on from a saved state; `name` is what errors call it.

    Raises `TiltError` where it is no such state, or one of another query.
    """
    state: Mapping[str, Any] = read_state(saved, name)
    if state["query"] != fingerprint(engine.query):
        raise TiltError(
            f"{name}: the state is of another query, or of other lifetimes or "
            "parameters; go on with the query that it was saved of, or start anew"
        )
    present = list_options(engine)
    for option, value in state["options"].items():
        if present[option] != value:
            raise TiltError(
                f"{name}: the state was saved with {option} = {value}, and here it is "
                f"{present[option]}; go on with the options that it was saved with"
            )
    for input_name, source in engine.sources.items():
        source.restore(state["sources"][input_name])
    engine.steps = state["steps"]
    engine.open()
    if not state["inputs"]:  # it was saved before the schemas of all were known
        return
    for output_name, output in engine.outputs.items():
        output.start, output.done, output.finished = state["outputs"][output_name]
        engine.has_finished = engine.has_finished or output.finished
    for input_name, held in engine.inputs.items():
        held.restore(state["inputs"][input_name])
    for part, each in zip(engine.parts, state["parts"], strict=True):
        part.restore(each)


def look_ahead(engine: LiveEngine) -> tuple[LiveEngine, SessionStep]:
    """Finish a copy of a session, as if no row were to come: the session goes on.

    Returns the copy, and the snapshots that it has beyond those that are final.
    """
    copy = engine.renew()
    restore_session(copy, save_session(engine))
    return copy, copy.finish()


def list_options(engine: LiveEngine) -> dict[str, str]:
    """List the options that decide what becomes of rows, by their names."""
    options = {"start": str(engine.request.start)}
    for name, source in engine.sources.items():
        binding = source.options.binding
        options |= {
            f"{name}.reorder": str(source.options.reorder),
            f"{name}.late": source.options.late,
            f"{name}.column": str(binding.column),
            f"{name}.order": str(binding.order),
            f"{name}.by": str(binding.by),
        }
    return options


def fingerprint(query: Query) -> str:
    """Make the digest of a query's text, and of what its inputs were bound with."""
    inputs = [(each.name, str(each.lifetime), each.time) for each in query.inputs]
    text = f"{query.unit}\n{inputs}\n{format_query(query)}"
    return blake2b(text.encode(), digest_size=16).hexdigest()
