"""Query texts that between them use the whole language."""

FIGURE_4 = """
    t = TDom(-∞, ∞, 1)
    ~select[t] = ~m[t] + 1
    ~where[t] = (~m[t]%2 == 0) ? ~m[t] : φ
    ~join[t] = (~m[t] != φ && ~n[t] != φ) ?
               (~m[t] + ~n[t]) : φ

    t' = TDom(-∞, ∞, 5)
    ~wsum[t'] = ⊕(+, ~m[t'-10 : t'])
"""
"""Figure 4 of the paper, as it stands."""

SECTION_5_2 = """
    ~filter[t] = {
        s10 = ⊕(+, ~stock[t-10:t])
        s20 = ⊕(+, ~stock[t-20:t])
        a10 = s10/10
        a20 = s20/20
        j = (a10 != φ && a20 != φ) ? (a10-a20) : φ
        return (j > 0) ? j : φ }
"""
"""The fused query of section 5.2 of the paper, as it stands."""


def ascii_of(text: str) -> str:
    """Make the same text in ASCII."""
    return text.replace("φ", "phi").replace("∞", "inf").replace("⊕", "reduce")


FIGURE_4_QUERY = "input m : i64\ninput n : i64\n" + FIGURE_4
SECTION_5_2_QUERY = "unit d\ninput stock : f64\n" + SECTION_5_2 + "output ~filter\n"

TRADES = """# Volume-weighted prices.
param width : duration = 1m
input trades : { price: f64, size: i64 } time ts until_next max 1d order seq, venue
w = TDom(opening, ∞, 1s, 500ms)
~vwap[w] = {
    value = sum(p * s for {price: p, size: s} in ~trades[w-width : w] if s > 0)
    size = ⊕(+, ~trades[w-width:w].size)
    return size > 0 ? value / size : φ
}
"""

STRUCTS = """param limit : f64 = 2.5
input trades : { price: f64, size: i64 }
input quote : f32 time ts sampled 250ms   # a quote every quarter of a second
~jump[t] = abs(~trades[t-10s].price) > limit && !is_nan(~quote[t])
~rest[t] = {
    last = ~trades[t+5s] with { price = round(~trades[t].price), size = 0 }
    return exists(last) ? { price = f32(last.price), open = ~jump[t] } : φ
}
output ~jump, ~rest
"""

ODDS = """unit ms; input a : u8 interval (from, "up to")
input b : bool duration 1h30m
t = TDom(-5, 1000, 7)
~x[t] = ~a[t] // 3 % 2 - -4 * t
~y[t] = any(~b[t-1s : t]) || start(~a[t]) < end(~a[t+3])
        ? std(~a[t-.5s:t], ddof=1) : 0.5
~z[t] = min(~x[t], max(~a[t-10 : t])) == φ
output ~y; output ~z
"""

KEYED = """input trades by symbol, "trade venue" : { price: f64, symbol: u8 } point
input rates : f64 until_next
input halts by symbol, "trade venue" : bool interval (ts, te)
~vwap[t] = mean(~trades[t-1m : t].price) * ~rates[t]
~open[t] = ~halts[t] == φ ? ~vwap[t] : φ
output ~open
"""

ALL = (FIGURE_4_QUERY, SECTION_5_2_QUERY, TRADES, STRUCTS, ODDS, KEYED)
