"""Sensor files that arrive in a folder: episodes as they happen, over a restart.

A household's meter writes a file a day. A live session reads each one as it comes, and
is saved after it. A program that starts anew goes on from what was saved, and together
both have said what one run over all files says.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

import tiltpy as tilt

POWER = Path(__file__).parent / "data" / "power.parquet"
DAY, LEAST = 24 * 60, timedelta(minutes=10)
QUERY = tilt.parse("""
unit m
input watts : i16 time minute sampled 1m
distinct ~high[t] = ~watts[t] > 4000 ? true : φ
output ~high
""")


def follow(folder: str, saved: bytes | None, place: object) -> Iterator[tuple]:
    """Give what is final after each file, and from where to go on."""
    live, files = QUERY.live(resume=saved), tilt.sources.folder(folder, follow=False)
    files.seek(place)
    for batch in files:
        update = live.push(watts=batch.frame)
        yield update["high"].final.to_arrow(), live.save(), batch.position
    yield live.finish()["high"].final.to_arrow(), None, None


def main() -> None:
    power = pq.read_table(POWER)
    with TemporaryDirectory() as folder:
        for number, first in enumerate(range(0, len(power), DAY)):
            pq.write_table(power.slice(first, DAY), f"{folder}/day-{number:02}.parquet")
        days = follow(folder, None, None)
        before = [next(days) for _ in range(20)]
        _, saved, place = before[-1]  # this program ends here, and another one goes on
        after = list(follow(folder, saved, place))
    episodes = pa.concat_tables([final for final, _, _ in before + after])
    assert episodes == QUERY.run(watts=power)["high"].to_arrow()

    long = [e for e in episodes.to_pylist() if e["end"] - e["start"] >= LEAST]
    print(f"{len(long)} times above 4 kW for ten minutes or more; the last of them:")
    for episode in long[-5:]:
        print(f"{episode['start']:%Y-%m-%d %H:%M}  {episode['end'] - episode['start']}")
    assert len(long) == 21


if __name__ == "__main__":
    main()
