"""Random queries that count the rows of a window that compare with the present.

`count(v for v in ~x[t-9 : t] if v.k == ~x[t].k && v.n > 0)`: keys of every type, φ and
NaN among them, equal to the present or before or beyond it, beside other conditions.
"""

from random import Random

from tests.random.queries import Case, random_domain
from tests.random.streams import StreamMaker
from tiltpy.frontend.parse import parse
from tiltpy.types import F32, F64, I64, SCALARS, STRING, Struct, Type

SHAPE = Struct(
    (("a", F64), ("f", F32), ("n", I64), ("u", SCALARS["u8"]), ("k", STRING))
)
INPUTS: dict[str, Type] = {"x": SHAPE, "y": F64}
KEYS = (
    ("v.a", ("~x[{t}].a", "~y[{t}]", "~y[{t}] * 2", "0.5", "min(~y[{t}], 1.0)")),
    ("v.f", ("~x[{t}].f", "f32(~y[{t}])")),
    ("v.n", ("~x[{t}].n", "i64({t}) % 3", "count(~y[{t}-4 : {t}])")),
    ("v.n % 2", ("~x[{t}].n % 2", "~x[{t}].n")),
    ("v.u", ("~x[{t}].u",)),
    ("v.k", ("~x[{t}].k", '(~y[{t}] > 0 ? "a" : "view")')),
    ("v.a + f64(v.f)", ("~x[{t}].a", "mean(~y[{t}-9 : {t}])")),
)
OTHERS = (
    "v.n > 0", "v.a != φ", "i64({t}) % 2 == 0", "~y[{t}] > 0", 'v.k != "a"',
)  # fmt: skip
VALUES = ("v", "v", "v.a", "v.n + 1")


def condition(random: Random, time: str) -> str:
    """Comparisons of one key, or of some with `==`, and perhaps something else."""
    key, presents = random.choice(KEYS)
    drawn = random.random()
    if drawn < 0.45:
        some = random.sample(KEYS, random.choice((1, 1, 2)))
        clauses = [(key, "==", random.choice(these)) for key, these in some]
    else:
        ops = random.choices(("<", "<=", ">", ">=", "=="), k=1 + (drawn > 0.85))
        clauses = [(key, op, random.choice(presents)) for op in ops]
    written = [
        f"{key} {op} {now}" if random.random() < 0.8 else f"{now} {mirrored(op)} {key}"
        for key, op, now in clauses
    ]
    if random.random() < 0.4:
        written.insert(random.randint(0, len(written)), random.choice(OTHERS))
    return " && ".join(f"({clause})" for clause in written).replace("{t}", time)


def mirrored(op: str) -> str:
    """The comparison that says the same with its sides exchanged."""
    return op.translate(str.maketrans("<>", "><"))


def random_window(random: Random, time: str, end: int) -> str:
    """A window of `~x` at a time, or over rows: between two times, or open."""
    stop = f"{time}{end:+}"
    if time == "e" and random.random() < 0.4:
        stop = "row e"
    length = random.choice((1, 4, 9, 20, 60))
    lefts = ["-∞", f"last {random.choice((1, 3, 20))}"]
    lefts += [f"{word} ~{name}" for word in ("since", "after") for name in "cr"]
    left = random.choice((f"{time}{end - length:+}", *lefts, "-∞"))
    if stop == "row e" and "~c" in left:
        left = "since ~r"
    within = f" within {length}" if "~" in left or "last" in left else ""
    return f"~x[{left} : {stop}{within if random.random() < 0.3 else ''}]"


def random_match_case(seed: int) -> Case:
    """A query with some such counts, and its streams; the same for the same seed."""
    random = Random(f"matches {seed}")  # noqa: S311 - tests, not secrets
    maker = StreamMaker(random, exact=True, specials=seed % 3 == 0)
    events = {name: maker.events(payload)[0] for name, payload in INPUTS.items()}
    lines = [f"input x : {SHAPE}", "input y : f64", "e = Rows(~x)"]
    lines.append(f"w = TDom(-∞, ∞, {random.choice((2, 3, 7))})")
    lines += ["~c[t] = ~y[t] > 0.5", "~r[e] = ~x[e].a > 0.5"]
    for name in "opq":
        time = random.choice("eettw")
        end = random.choice((0, 0, 0, -1, 2)) if time != "e" else 0
        window = random_window(random, time, end)
        counted = f"count({random.choice(VALUES)} for v in {window} if "
        lines.append(f"~{name}[{time}] = {counted}{condition(random, time)})")
    query = parse("\n".join((*lines, "output ~o, ~p, ~q")))
    return Case(query, events, *random_domain(random, maker))
