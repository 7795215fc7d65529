"""Queries at a glance: the tree, JSON, DOT and Mermaid say the same, well formed.

DOT is read by a parser of its own; Mermaid, whose parser is no Python, by the part of
its grammar that is used here. Both give back the texts that went in.
"""

import html
import json
import re
from pathlib import Path
from typing import Any

import pydot
import pytest

import tiltpy as tilt
from tests import ROOT
from tests.random.queries import random_case
from tiltpy.api import CompiledQuery
from tiltpy.cli.main import main
from tiltpy.compiler.output_selection import drop_unused_inputs
from tiltpy.ir.cuts import reads
from tiltpy.visible import escape_lines

FUSED = """
unit s
input q : { price: f64, size: i64 } point
input m : f64 sampled 1s
t5 = TDom(-∞, ∞, 5s)
~a[t] = ~m[t] != φ && ~m[t-1s] < 3 ? ~m[t] : φ
~b[t] = max(p * s for {price: p, size: s} in ~q[t-1m : t] if s > 0)
      + mean(~a[t-10s : t]) + std(~a[t-10s : t])
~c[t5] = {
    k = ~b[t5]
    z = ~b[t5+5s]
    return k > z ? k : φ
}
~d[t] = ~a[t] + 1
~un[t] = ~m[t]
output ~c, ~d, ~b
"""
WILD = """
input x' : { "a \\"<b>\\" & `c` \\\\": i64 } time "#1; %% end" point
~φ'[t] = ~x'[t]."a \\"<b>\\" & `c` \\\\" < 3
~subgraph[t] = ~φ'[t-1] && ~x'[t] != φ
output ~subgraph, ~φ'
"""
TREND = (ROOT / "examples/queries/trend.tilt").read_text()


def test_the_tree_shows_what_is_made_of_what() -> None:
    assert tilt.parse(TREND).explain(format="tree") == (
        "~trend: f64, output, a loop; looks back 20d in ~stock\n"
        "└─ ~join[t]: f64, fused\n"
        "   ├─ ~avg10[t]: f64, fused\n"
        "   │  └─ mean of ~stock[t-10d : t]: f64, input\n"
        "   └─ ~avg20[t]: f64, fused\n"
        "      └─ mean of ~stock[t-20d : t]: f64, input\n"
    )


def test_the_tree_shows_everything_once() -> None:
    struct = "{ price: f64, size: i64 }"
    ahead = "ahead 5s beyond its cell"
    looks = f"looks back 1m and {ahead} in ~q, back 11s and {ahead} in ~m"
    assert tilt.parse(FUSED).explain(format="tree") == (
        "~b: f64, output, a loop; looks back 1m in ~q, back 11s in ~m\n"
        f"├─ max of ~q[t-1m : t]: {struct}, input\n"
        "└─ mean, std of ~a[t-10s : t]: f64, a loop\n"
        "   ├─ ~m[t]: f64, input\n"
        "   └─ ~m[t-1s]: f64, input\n"
        f"~c: f64, output, a loop; {looks}\n"
        "├─ ~b[t]: f64, a loop, see above\n"
        "└─ ~b[t+5s]: f64, a loop, see above\n"
        "~d: f64, output, a loop; looks back 1s in ~m\n"
        "└─ ~a[t]: f64, fused, see above\n"
        "~un: f64, no output needs it\n"
    )


KEYED = """
unit s
input q by symbol, "no." : { price: f64, size: i64 } point
input r : f64 until_next
~mean[t] = mean(~q[t-1m : t].price) * ~r[t]
~big[t] = ~mean[t] > 3 ? ~mean[t] : φ
~rate[t] = ~r[t] + 1
output ~big, ~rate
"""


def test_keys_stand_at_inputs_and_outputs() -> None:
    struct = "{ price: f64, size: i64 }"
    query = tilt.parse(KEYED)
    assert query.explain(format="tree") == (
        '~big: f64, output by symbol, "no.", a loop; '
        "looks back 1m in ~q, at its own time in ~r\n"
        "└─ ~mean[t]: f64, fused\n"
        f'   ├─ mean of ~q[t-1m : t]: {struct}, input by symbol, "no."\n'
        "   └─ ~r[t]: f64, input\n"
        "~rate: f64, output, a loop; looks at its own time in ~r\n"
        "└─ ~r[t]: f64, input\n"
    )
    found = outline(KEYED)
    assert [one["keys"] for one in found["inputs"]] == [["symbol", "no."], []]
    keys = {one["name"]: one["keys"] for one in found["definitions"]}
    assert keys == {"mean": ["symbol", "no."], "big": ["symbol", "no."], "rate": []}
    boxes, _, _ = from_dot(query.explain(format="dot"))
    assert f'input q by symbol, "no." : {struct} point' in boxes.values()
    assert repr(query) == '<query ~q by symbol, "no.", ~r -> ~big, ~rate>'
    card = html.unescape(query._repr_html_())
    assert 'query: ~q by symbol, "no.", ~r → ~big, ~rate' in card
    assert '~big by symbol, "no."</td>' in card
    assert '~q by symbol, "no.": contiguous' in query.explain()


def outline(text: str) -> Any:
    return json.loads(tilt.parse(text).explain(format="json"))


def test_json_holds_all_of_it() -> None:
    found = outline(FUSED)
    assert found["unit"] == "s"
    assert tilt.parse(str(found["query"])).query == tilt.parse(FUSED).query
    assert [one["name"] for one in found["inputs"]] == ["q", "m"]
    computed = {one["name"]: one["computed_in"] for one in found["definitions"]}
    assert computed == {"a": ["a"], "b": ["b"], "c": ["c"], "d": ["d"], "un": []}
    outputs = [one["name"] for one in found["definitions"] if one["output"]]
    assert outputs == ["b", "c", "d"]
    (coarse,) = (one for one in found["definitions"] if one["name"] == "c")
    assert coarse["domain"] == "TDom(-∞, ∞, 5s)"
    window = {
        "reader": "b",
        "object": "a",
        "start": -10,
        "end": 0,
        "reductions": ["mean", "std"],
        "text": "~a[t-10s : t]",
        "fused": False,
    }
    assert window in found["references"]
    fused = [(r["object"], r["reader"]) for r in found["references"] if r["fused"]]
    assert fused == [("a", "d")]
    text = "back 1m and ahead 5s beyond its cell"
    reach = {"output": "c", "input": "q", "back": 60, "ahead": 9, "text": text}
    assert reach in found["reach"]


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("~o[t] = ~m[t]", "back 5s and ahead 4s"),
        ("~o[t] = ~m[t-3s]", "back 8s and ahead 1s"),
        ("~o[t] = ~m[t-5s]", "back 10s"),
        ("~o[t] = sum(~m[t-20s : t-5s])", "back 25s"),
        ("~b[t] = ~m[t-9s]  ~o[t] = ~b[t+4s]", "back 10s"),
        ("~o[five] = ~m[five]", "back 5s and ahead within its cell"),
        ("~o[five] = ~m[five+5s]", "ahead 5s beyond its cell"),
        ("~o[five] = ~m[five-5s]", "back 10s"),
    ],
)
def test_what_a_cell_sees_of_itself_is_no_look_ahead(
    definition: str, expected: str
) -> None:
    text = "unit s  input x : f64 point  five = TDom(-∞, ∞, 5s)"
    mean = "~m[five] = mean(~x[five-5s : five])"
    query = tilt.parse(f"{text}  {mean}  {definition}  output ~o")
    (reach,) = json.loads(query.explain(format="json"))["reach"]
    assert reach["text"] == expected


def test_what_several_loops_compute_says_so() -> None:
    found = outline(
        "input x : f64 point\n~a[t] = ~x[t] + 1\n~b[t] = ~a[t] * 2\n~c[t] = ~a[t] * 3"
    )
    computed = {one["name"]: one["computed_in"] for one in found["definitions"]}
    assert computed == {"a": ["c", "b"], "b": ["b"], "c": ["c"]}
    without = tilt.CompileOptions(disabled_passes=frozenset({"fuse_operators"}))
    query = tilt.parse(TREND, options=without)
    apart = json.loads(query.explain(format="json"))
    assert not any(one["fused"] for one in apart["references"])
    for one in apart["definitions"]:
        assert one["computed_in"] == [one["name"]]


Edges = list[tuple[str, str, str, bool]]


def from_dot(text: str) -> tuple[dict[str, str], Edges, dict[str, set[str]]]:
    """The boxes of a DOT graph by id, its arrows, and what is in each frame."""
    graph: Any
    (graph,) = pydot.graph_from_dot_data(text) or []

    def unquoted(label: str) -> str:
        assert label[0] == label[-1] == '"'
        ends = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "l" else m[1], label[1:-1])
        return ends.removesuffix("\n")

    boxes: dict[str, str] = {}
    frames: dict[str, set[str]] = {}
    for frame in graph.get_subgraphs():
        assert frame.get_name().startswith("cluster_")
        inside = [node for node in frame.get_nodes() if node.get("label")]
        frames[unquoted(frame.get("label"))] = {node.get_name() for node in inside}
        boxes |= {node.get_name(): unquoted(node.get("label")) for node in inside}
    own = (
        n for n in graph.get_nodes() if n.get_name() not in ("graph", "node", "edge")
    )
    boxes |= {node.get_name(): unquoted(node.get("label")) for node in own}
    edges = [
        (
            edge.get_source(),
            edge.get_destination(),
            unquoted(edge.get("label")),
            edge.get("style") == '"dashed"',
        )
        for edge in graph.get_edges()
    ]
    return boxes, edges, frames


def from_mermaid(text: str) -> tuple[dict[str, str], Edges, dict[str, set[str]]]:
    """Make the same of a Mermaid flow chart; each line must be one of those known."""
    head, *lines = text.splitlines()
    assert head == "flowchart TD"
    label = r'"((?:[^"#<>&`\\]|#\w+;|<br/>)+)"'
    boxes: dict[str, str] = {}
    edges: Edges = []
    frames: dict[str, set[str]] = {}
    inside: set[str] | None = None
    for line in lines:
        if found := re.fullmatch(rf" +(n\d+)(?:\[{label}\]|\({label}\))", line):
            boxes[found[1]] = named(found[2] or found[3])
            if inside is not None:
                inside.add(found[1])
        elif found := re.fullmatch(rf"  subgraph loop_n\d+ \[{label}\]", line):
            assert inside is None
            inside = frames[named(found[1])] = set()
        elif line == "  end":
            assert inside
            inside = None
        elif found := re.fullmatch(rf"  (n\d+) (-->|-\.->)\|{label}\| (n\d+)", line):
            edges.append((found[1], found[4], named(found[3]), found[2] == "-.->"))
        else:
            assert re.fullmatch(
                r"  classDef output [\w:-]+|  class (n\d+,?)+ output", line
            )
    assert inside is None
    return boxes, edges, frames


def named(label: str) -> str:
    """A label as a browser shows it."""
    text = re.sub(r"#(\d+;)|#(?=\w+;)", r"&#\1", label.replace("<br/>", "\n"))
    named = re.sub(r"&#(?=[a-z])", "&", text)
    return html.unescape(named).replace("\xa0", " ")


@pytest.mark.parametrize("text", [TREND, FUSED, WILD], ids=["trend", "fused", "wild"])
def test_graphs_hold_the_outline(text: str) -> None:
    query = tilt.parse(text)
    boxes, edges, frames = from_dot(query.explain(format="dot"))
    assert (boxes, edges, frames) == from_mermaid(query.explain(format="mermaid"))
    found = outline(text)
    texts = [str(one["text"]) for one in found["inputs"] + found["definitions"]]
    for said, box in zip(
        texts, (boxes[f"n{i}"] for i in range(len(texts))), strict=True
    ):
        assert box.startswith(said[:50])
    names = [one["name"] for one in found["inputs"] + found["definitions"]]
    arrows = [(names[int(a[1:])], names[int(b[1:])], fused) for a, b, _, fused in edges]
    assert arrows == [
        (one["object"], one["reader"], one["fused"]) for one in found["references"]
    ]
    for one, (_, _, label, _) in zip(found["references"], edges, strict=True):
        assert label.endswith(str(one["text"]).removeprefix(f"~{one['object']}"))


def test_a_frame_is_around_what_a_loop_computes() -> None:
    frames = from_dot(tilt.parse(TREND).explain(format="dot"))[2]
    assert frames == {"one loop: ~trend": {"n1", "n2", "n3", "n4"}}
    assert from_dot(tilt.parse(FUSED).explain(format="dot"))[2] == {}


def test_long_definitions_are_cut() -> None:
    body = "\n".join(f"v{i} = ~x[t-{i}] + {i}" for i in range(1, 40))
    total = " + ".join(f"v{i}" for i in range(1, 40))
    query = tilt.parse(f"input x : i64 point\n~y[t] = {{ {body}\nreturn {total} }}")
    boxes, edges, _ = from_dot(query.explain(format="dot"))
    lines = boxes["n1"].splitlines()
    assert (len(lines), lines[-1], len(edges)) == (14, "…", 39)


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(40))
def test_random_queries_have_outlines(seed: int) -> None:
    query = CompiledQuery(random_case(seed, exact=True).query)
    boxes, edges, frames = from_dot(query.explain(format="dot"))
    others = from_mermaid(query.explain(format="mermaid"))
    assert (boxes, sorted(edges), frames) == (others[0], sorted(others[1]), others[2])
    found = json.loads(query.explain(format="json"))
    pairs = {(one["reader"], one["object"]) for one in found["references"]}
    needed = drop_unused_inputs(query.query)
    assert pairs == {(d.name, r) for d in needed.definitions for r in reads(d)}
    tree = query.explain(format="tree")
    for name in query.query.outputs:
        assert re.search(
            rf"^~{re.escape(name)}: .*, output, a loop", tree, re.MULTILINE
        )


def test_wrong_formats_are_refused() -> None:
    query = tilt.parse(TREND)
    with pytest.raises(
        tilt.TiltError, match=r"format='pdf': expected 'stages', 'live', 'tree', "
    ):
        query.explain(format="pdf")  # type: ignore[arg-type]
    with pytest.raises(tilt.TiltError, match="in the format 'stages' only"):
        query.explain(format="dot", asm=True)


def test_json_writes_what_hides_with_escapes_of_its_own() -> None:
    hidden = "\x1b\x7f\x9b\u061c\u202e\u2028"
    name = f"v{hidden}ü∞"
    query = tilt.parse(f'input x : {{ "{name}": f64 }} point\n~o[t] = ~x[t]')
    shown = query.explain(format="json")
    assert escape_lines(shown) == shown
    assert "v\\u001b\\u007f\\u009b\\u061c\\u202e\\u2028ü∞" in shown
    assert name in json.loads(shown)["inputs"][0]["type"]


def test_the_command_line_has_the_formats(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "q.tilt"
    path.write_text(TREND)
    for name in ("tree", "json", "dot", "mermaid", "svg"):
        assert main(["explain", str(path), "--format", name]) == 0
        text = tilt.parse(TREND).explain(format=name)
        assert capsys.readouterr().out == text
    assert main(["explain", str(path), "--format", "dot", "--llvm"]) == 2
    said = "error: --format dot has no machine code; leave it out\n"
    assert capsys.readouterr().err == said
    assert main(["explain", str(path), "--format", "pdf"]) == 2
    assert "invalid choice: 'pdf'" in capsys.readouterr().err


def test_notebooks_show_queries() -> None:
    shown = tilt.parse(FUSED)._repr_html_()
    assert shown.startswith("<p>query: ~q, ~m → ~c, ~d, ~b</p><pre")
    assert "input m : f64 sampled 1s\n" in shown
    assert "~m[t-1s] &lt; 3.0 ?" in shown
    assert (
        "<td>~c</td><td>f64</td><td>~q: back 1m and ahead 5s beyond its cell; ~m: "
        in shown
    )
    assert "color" not in shown
    wild = tilt.parse(WILD)._repr_html_()
    assert "<b>" not in wild
    lines = "\n".join(f"~a{i}[t] = ~x[t] + {i}" for i in range(99))
    long = tilt.parse(f"input x : i64 point\n{lines}")._repr_html_()
    assert long.count("\n") == 40
    assert re.search(r"# and \d+ lines more</pre>", long)
