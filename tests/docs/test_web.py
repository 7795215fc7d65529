"""The tasks of the web beside pandas and plain loops."""

from collections import Counter

import numpy as np
import pandas as pd

from tests.docs.tasks import random_numbers, readings, run_task, seconds_of
from tests.semantics.recipes import ROWS, agree, by_end, by_window

PAGE = "web.md"


def test_sessions() -> None:
    frame = readings(5, 600, kind="page")[["time", "user", "page"]]
    frame.time = frame.time // 300 * 300
    gaps = frame.groupby("user").time.diff()
    assert (gaps == 0).any()
    assert (gaps == 1800).any()
    number = (~(gaps <= 1800)).groupby(frame.user).cumsum().rename("number")
    grouped = frame.groupby(["user", number])
    expected = grouped.time.agg(["first", "last", "count"])
    expected["page"] = grouped.page.first()
    expected.index = pd.MultiIndex.from_arrays(
        [expected.index.get_level_values("user"), expected["last"]]
    )
    found = by_end(run_task(PAGE, "sessions.tilt", frame)["session"])
    for name in ("from", "to"):
        found[name] = seconds_of(found[name])
    assert found.pop("landing").tolist() == expected.pop("page").tolist()
    agree(found, expected)


def test_a_funnel() -> None:
    kinds = np.random.default_rng(12).choice(["home", "cart", "paid"], ROWS)
    frame = readings(12, 1200)[["time", "user"]].assign(page=kinds)
    frame.time = frame.time // 400 * 400
    paid, carts = (frame[frame.page == kind] for kind in ("paid", "cart"))
    both = pd.merge_asof(
        paid,
        carts.assign(seen=carts.time),
        on="time",
        by="user",
        tolerance=3600,
        allow_exact_matches=False,
    ).dropna(subset="seen")
    assert (both.time - both.seen == 3600).any()
    took = (both.time - both.seen).set_axis([both.user, both.time])
    found = by_end(run_task(PAGE, "funnel", frame)["paid"])
    agree(
        found.paid.dt.total_seconds().to_frame(),
        took.sort_index(level=0, sort_remaining=False, kind="stable"),
    )


def test_distinct_users_of_a_day() -> None:
    customer = random_numbers(12, 0, 60).astype("int32")
    frame = readings(12, 60, time="sold")[["sold"]].assign(customer=customer)
    sold = frame.set_index("sold").customer
    hours = range(-(-sold.index[0] // 60) * 60, sold.index[-1] + 60, 60)
    users = [sold.loc[hour - 1439 : hour].nunique() for hour in hours]
    found = run_task(PAGE, "customers.tilt", frame)["customers"]
    agree(by_window(found), pd.Series(users, hours))


def test_the_three_pages_that_were_seen_most() -> None:
    pages = np.random.default_rng(13).choice([*"aabbbcde"], ROWS)
    frame = readings(13, 540)[["time"]].assign(view=pages)
    expected = []
    for hour, views in frame.groupby(frame.time // 3600 * 3600).view:
        ranks = [*Counter(views).most_common(3), (None, None), (None, None)][:3]
        row: dict[str, object] = {"time": hour}
        for rank, (page, count) in enumerate(ranks, 1):
            row |= {f"mode{rank}": page, f"count{rank}": count}
        expected.append(row)
    assert len(expected) > 20
    assert run_task(PAGE, "ranking", frame)["top"].windows().to_pylist() == expected
