"""A picture of each application, drawn over a part of its data: `make examples`.

They go to `output/` beside the examples, or to the folder that is given.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt

EXAMPLES = Path(__file__).parent.parent
SECOND = 360
"""Samples of the electrocardiogram; as a period of 25 ticks it is 9000."""


COMPANIES = ("AAPL", "GOOG", "IBM", "MSFT")


def table(name: str) -> pa.Table:
    return pq.read_table(EXAMPLES / "data" / f"{name}.parquet")


def rows(name: str, column: str | None = None) -> object:
    return tilt.bind(table(name), column=column)


def samples(name: str, column: str, period: int = 1) -> object:
    return tilt.sampled(table(name)[column], start=0, period=period)


def by_symbol(column: str) -> object:
    named = [
        table(name).append_column("symbol", pa.repeat(name, len(table(name))))
        for name in COMPANIES
    ]
    return tilt.bind(pa.concat_tables(named), column=column)


IBM = rows("IBM", "AdjClose")
ECG = samples("ecg", "adu")
PICTURES = {
    "figure2": ({"stock": IBM}, "2011-01-01", "2011-12-31"),
    "trading": ({"price": IBM}, "2011-01-01", "2012-12-31"),
    "rsi": ({"price": samples("IBM", "AdjClose")}, 2500, 3270),
    "normalize": ({"ecg": ECG}, 40 * SECOND, 60 * SECOND),
    "impute": ({"watts": rows("power")}, "2007-06-09 16:00", "2007-06-09 22:00"),
    "episodes": ({"watts": rows("power")}, "2007-06-17 12:00", "2007-06-18 00:00"),
    "resample": ({"ecg": samples("ecg", "adu", 25)}, 9000, 2 * 9000),
    "vibration": ({"acceleration": samples("gait", "ankle")}, 0, 7040),
    "fraud": ({"quantity": rows("retail", "quantity")}, "2010-03-11", "2010-03-31"),
    "yahoo": ({"carrier": rows("flights")}, "2013-01-14", "2013-01-21"),
    "pan_tompkins": ({"ecg": ECG}, 170 * SECOND, 180 * SECOND),
    "trends": ({"stock": by_symbol("AdjClose")}, "2011-01-01", "2011-12-31"),
    "customers": ({"quantity": rows("retail", "quantity")}, "2010-03-11", "2010-03-31"),
    "delays": (
        {"delay": rows("flights", "delay"), "weather": rows("weather")},
        "2013-01-24",
        "2013-01-27",
    ),
}
KEYS = {"customers": (13694, 14646, 17949)}
"""Of many, those that are drawn."""


def main() -> None:
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES / "output"
    output.mkdir(exist_ok=True)
    for name, (inputs, start, end) in PICTURES.items():
        query = tilt.load(EXAMPLES / "queries" / f"{name}.tilt")
        span = {"start": start, "end": end}
        result = query.run(**inputs, **span)
        path = output / f"{name}.svg"
        seen = query.read_inputs(**inputs, **span)
        result.plot(path, inputs=seen, keys=KEYS.get(name), title=name)
        print(path)


if __name__ == "__main__":
    main()
