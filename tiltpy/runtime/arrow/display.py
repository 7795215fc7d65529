"""The values of a column as people read them, in previews and notebooks."""

import pyarrow as pa
import pyarrow.types as pt

PHI = "φ"


def texts_of(column: pa.ChunkedArray) -> list[str]:
    """Each value of a column; nulls are φ, structs stand in braces."""
    return [text for chunk in column.chunks for text in _texts(chunk)]


def _texts(array: pa.Array) -> list[str]:
    if pt.is_struct(array.type):
        return _structs(array)
    # as Arrow writes them: Python's datetime has neither nanoseconds nor far years
    unit = array.type.unit if pt.is_duration(array.type) else ""
    found = array.cast(pa.string()).to_pylist()
    return [PHI if text is None else text + unit for text in found]


def _structs(array: pa.Array) -> list[str]:
    names = [field.name for field in array.type]
    rows = zip(*(_texts(part) for part in array.flatten()), strict=True)
    found = []
    for there, row in zip(array.is_valid().to_pylist(), rows, strict=True):
        fields = ", ".join(f"{n} = {v}" for n, v in zip(names, row, strict=True))
        found.append(f"{{ {fields} }}" if there else PHI)
    return found
