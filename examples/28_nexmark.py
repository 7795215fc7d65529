"""The Nexmark benchmark: each query as a text and in SQL, which give the same rows.

`queries/nexmark/README.md` says what the 23 show, and what they leave out.
`data/nexmark.py` makes their data.
"""

from pathlib import Path

import duckdb
import pyarrow as pa
from data.nexmark import frames, tables

import tiltpy as tilt

QUERIES = Path(__file__).parent / "queries" / "nexmark"
AFTER = "2024-11-01"
Events = dict[str, pa.Table]


def by_text(name: str, events: Events) -> tilt.OutputTable:
    inputs = frames(name, events)
    if name in ("q4", "q6"):
        inputs = {"winning": by_text("q9", events).to_arrow()}
    end = AFTER if name in ("q5", "q11") else None  # windows that end after the bids
    return tilt.load(QUERIES / f"{name}.tilt").run(**inputs, end=end).only()


def by_sql(name: str, events: Events) -> pa.Table:
    with duckdb.connect() as connection:
        for table, rows in events.items():
            connection.register("rows", rows)
            connection.execute(f"CREATE TABLE {table} AS FROM rows")
        return connection.sql((QUERIES / f"{name}.sql").read_text()).to_arrow_table()


def by_both(name: str, events: Events) -> list[pa.Table]:
    """The rows of the text and of the SQL, which calls the label of a window `time`."""
    output, expected = by_text(name, events), by_sql(name, events)
    columns = expected.column_names
    found = output.windows().drop_null() if "time" in columns else output.to_arrow()
    order = [(column, "ascending") for column in columns]
    found = found.select(columns).cast(expected.schema)
    return [found.sort_by(order), expected.sort_by(order)]


def main() -> None:
    events = tables()
    for path in sorted(QUERIES.glob("*.tilt"), key=lambda path: int(path.stem[1:])):
        found, expected = by_both(path.stem, events)
        assert found == expected
        print(f"{path.stem:>4}  {len(found):5} rows")


if __name__ == "__main__":
    main()
