"""The persons, auctions and bids of the Nexmark benchmark, made from a fixed seed.

Three days with a burst of bids every few hours: stamps are milliseconds and some bids
share one, auctions are open for up to a minute, some sellers are new. Columns are from
https://github.com/nexmark/nexmark, and three more: when a bid `arrived`, the `key` of
its entry in the table of q13, and the tick after which an auction is open, `opens`.
"""

from random import Random

import pyarrow as pa

import tiltpy as tilt

START = 1_730_000_000_000
HOUR = 3_600_000
STATES = ("OR", "ID", "CA", "WA", "AZ", "WY")
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
LETTERS = "abcdefghijklmnopqrstuvwxyz_"
STAMP = pa.timestamp("ms")


def tables(bids: int = 3000, seed: int = 1) -> dict[str, pa.Table]:
    """A table for each of `person`, `auction`, `bid`, and `side` of q13."""
    random = Random(seed)  # noqa: S311
    persons = [_person(i, START - 1000 + i, random) for i in range(20)]
    auctions = [_auction(0, 0, START, random)]
    rows = []
    now = arrived = START
    for _ in range(bids):
        now += random.choice((0, 7, 150, 400, 900))
        if random.random() < 0.01:
            now += random.randrange(HOUR, 4 * HOUR)
        if random.random() < 0.05:
            persons.append(_person(len(persons), now, random))
        if random.random() < 0.15:
            newest = random.random() < 0.3
            seller = len(persons) - 1 if newest else random.randrange(len(persons))
            auctions.append(_auction(len(auctions), seller, now, random))
        arrived = max(arrived, now + random.randrange(3000))
        bidder = random.randrange(len(persons) if random.random() < 0.2 else 8)
        rows.append(_bid(random.choice(auctions[-12:]), bidder, now, arrived, random))
    side = [_entry(key, random) for key in range(0, 10_000, 7)]
    return {
        "person": _table(persons),
        "auction": _table(auctions),
        "bid": _table(rows),
        "side": _table(side),
    }


def frames(query: str, events: dict[str, pa.Table]) -> dict[str, object]:
    """The tables that a query reads, bound by the column that it has for a key."""
    bid, auction = events["bid"], events["auction"]
    lots, person = (tilt.bind(events[name], by="id") for name in ("auction", "person"))
    match query:
        case "q3" | "q8":
            return {"auction": auction, "person": person}
        case "q5":
            return {"bid": bid, "all": bid}
        case "q9" | "q20":
            return {"bid": bid, "auction": lots}
        case "q13":
            return {"bid": bid, "side": events["side"]}
    return {"bid": bid}


def _person(number: int, now: int, random: Random) -> dict[str, object]:
    return {
        "id": 1000 + number,
        "name": f"{_text(random)} {_text(random)}",
        "city": _text(random),
        "state": random.choice(STATES),
        "dateTime": now,
    }


def _auction(number: int, seller: int, now: int, random: Random) -> dict[str, object]:
    return {
        "id": 1000 + number,
        "itemName": _text(random),
        "initialBid": random.randrange(100, 10_000),
        "dateTime": now,
        "opens": now - 1,
        "expires": now + random.randrange(500, 60_000),
        "seller": 1000 + seller,
        "category": random.randrange(10, 15),
    }


def _bid(
    auction: dict[str, object], bidder: int, now: int, arrived: int, random: Random
) -> dict[str, object]:
    known = random.random() < 0.6
    other = random.randrange(1000)
    path = "/".join(_text(random) for _ in range(random.randrange(1, 4)))
    query = f"&channel_id={other}" if not known and other % 3 else ""
    return {
        "auction": auction["id"],
        "key": int(str(auction["id"])) % 10_000,
        "bidder": 1000 + bidder,
        "price": int(10 ** random.uniform(2, 8)),
        "channel": random.choice(CHANNELS) if known else f"channel-{other}",
        "url": f"https://www.nexmark.com/{path}/item.htm?query=1{query}",
        "dateTime": now,
        "arrived": arrived,
        "extra": _text(random),
    }


def _entry(key: int, random: Random) -> dict[str, object]:
    return {"key": key, "value": _text(random), "dateTime": START - HOUR}


def _text(random: Random) -> str:
    return "".join(random.choices(LETTERS, k=random.randrange(3, 12)))


def _table(rows: list[dict[str, object]]) -> pa.Table:
    table = pa.Table.from_pylist(rows)
    for name in {"dateTime", "opens", "expires", "arrived"} & {*table.column_names}:
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast(STAMP))
    return table
