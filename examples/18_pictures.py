"""A picture of a result: steps, markers and gaps, in three kinds of files.

Held values are steps, what lasts a single tick is a marker at its stamp, φ is a gap.
`result.plot()` gives a figure of matplotlib, to be changed like any other; a path that
ends in `.html` a page to zoom in. They go to `output/`, with the query as a graph.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import tiltpy as tilt

HERE = Path(__file__).parent
OUTPUT = HERE / "output"
YEAR = {"start": "2011-01-01", "end": "2011-12-31"}
QUERY = """
    unit d
    input price : f64 time Date until_next
    t = TDom(-∞, ∞, 1d)
    ~mean[t] = mean(~price[t-20d : t])
    ~above[t] = ~price[t] > ~mean[t] ? ~price[t] - ~mean[t] : φ
    ~crossed[t] = ~above[t] != φ && ~above[t-1d] == φ ? ~price[t] : φ
    ~jump[t] = abs(~price[t] / ~price[t-1d] - 1) > 0.03
    output ~above, ~crossed, ~jump
"""


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    query = tilt.parse(QUERY)
    price = tilt.bind(pq.read_table(HERE / "data" / "AAPL.parquet"), column="AdjClose")
    result, inputs = (
        query.run(price=price, **YEAR),
        query.read_inputs(price=price, **YEAR),
    )
    figure = result.plot(inputs=inputs, title="Apple above its mean of 20 days")
    found = {}
    for axes in figure.axes:
        drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
        gaps = int(np.isnan(drawn["held"]).sum()) - 1 if "held" in drawn else 0
        marks = len(drawn.get("points", ()))
        found[axes.get_ylabel()] = gaps, marks
        print(f"{axes.get_ylabel():9} {gaps:2} gaps between steps, {marks:2} markers")
    assert found["~above"] == (16, 5)
    assert found["~crossed"] == (0, 22)

    figure.axes[1].set_ylabel("dollars above")
    figure.savefig(OUTPUT / "above.png")
    result.plot(OUTPUT / "above.html", inputs=inputs)
    (OUTPUT / "above.dot").write_text(query.explain(format="dot"))
    tree = query.explain(format="tree")
    print(f"\n{tree}")
    assert "└─ mean of ~price[t-20d : t]: f64, input" in tree


if __name__ == "__main__":
    main()
