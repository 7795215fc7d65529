"""Seeded random queries for vector kernels: regular or short rows, and long windows.

Their objects stand on grids that fit each other, so that nearly all of them have a
vector kernel. Windows of every length class are as likely as short ones, as far as the
interpreter can afford them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from random import Random

from tests.compiled import Setting
from tests.random.expressions import Graded, Row, Source
from tests.random.grades import WHOLE, small
from tests.random.queries import (
    Case,
    QueryWriter,
    Templates,
    input_grade,
    random_domain,
    random_payload,
)
from tests.random.streams import Spans, StreamMaker
from tiltpy.abi.layouts import Layout, SamplingGrid, TimeLayout
from tiltpy.abi.signature import LANES
from tiltpy.compiler.query_kernels import specialise
from tiltpy.costs import DEFAULT_COSTS
from tiltpy.emit.references import references
from tiltpy.interpreter.evaluate import Event
from tiltpy.ir.nodes import (
    At,
    Binary,
    Expr,
    Field,
    Input,
    MakeStruct,
    Query,
    TemporalExpr,
)
from tiltpy.passes.pipeline import PASS_NAMES, optimize
from tiltpy.passes.resolve_boundaries import resolve_boundaries
from tiltpy.plan.nodes import Refusal
from tiltpy.plan.strategies.tumbling_fold import tumbling_fold
from tiltpy.plan.strategies.vector_kernel import plan_vector
from tiltpy.types import Scalar, Struct, TDom, Type, columns

CELLS = (20, 60, 60, 100, 150, 250, 400)
"""Cells of a case besides those that the first result needs to be complete."""
LONGEST = 2_000
"""Rows of an input, at most."""
LENGTHS = (
    (1, 20), (1, 20), (2, 9), (31, 33), (63, 65), (100, 130), (127, 130), (140, 300),
)  # fmt: skip
"""Cells of a window: within a vector, about two and four of them, trees, blocks."""
LOOKS = 20_000
"""Snapshots that the interpreter looks at in all windows of a case, about."""
TRIES = 4
"""How often a query is drawn for one that has a vector kernel."""
FEW_LOOKS = 60
"""Snapshots in all windows of a finest cell from which on windows are short."""
DELAYS = (0, 0, 0, 0, 0, 0, 1, 2, 5, 17, 40, 130, 200)
"""Cells by which references look back."""


@dataclass(frozen=True, slots=True)
class Theme:
    """The subject of a case, so that rare forms come together often enough."""

    definitions: tuple[int, ...] = (1, 1, 1, 2, 2, 3, 4)
    factors: tuple[int, ...] = (1, 1, 1, 1, 2, 2, 3, 5, 8, 16, 25, 32, 40, 64)
    windows: bool = False
    """Whether nearly all definitions are windows."""
    long: bool = False
    """Whether windows are as long as can be afforded."""
    ahead: bool = False
    delays: bool = False


PANES = Theme(definitions=(1, 1, 2), factors=(32, 32, 33, 36, 40), windows=True)
AHEAD = Theme(definitions=(2, 2, 3), factors=(1,), windows=True, ahead=True)
LONG = Theme(definitions=(1, 1, 2), factors=(1,), windows=True, long=True)
DELAYED = Theme(definitions=(1, 2, 2), factors=(1,), long=True, delays=True)
WINDOWS = Theme(factors=(1,), windows=True)
HOPS = Theme(factors=(2, 4, 5, 16, 30), windows=True)
LAYERS = Theme(definitions=(2, 3), factors=(2, 3, 5, 8, 16, 32))
THEMES = (
    *[Theme()] * 3,
    *[PANES] * 4,
    *[AHEAD] * 3,
    *[LONG] * 2,
    DELAYED,
    WINDOWS,
    HOPS,
    LAYERS,
)


@dataclass(frozen=True, slots=True)
class Rows:
    """The kind of rows of an input: samples of some period, or short rows."""

    payload: Type
    period: int
    sampled: bool
    lost: float


class GridStreams(StreamMaker):
    """Streams that vector kernels take: samples without a gap, or short rows."""

    def __init__(
        self, random: Random, base: int, *, exact: bool, specials: bool, coarse: bool
    ) -> None:
        super().__init__(random, exact=exact, specials=specials)
        self.base = base
        self.coarse = coarse
        self.null_fields = random.choice((0.0, 0.2))
        self.spread = base == 1 and random.random() < (0.2 if coarse else 0.6)
        self.start = random.choice((0, 0, -40, -7, 5, 1000, 10**12))

    def rows(self) -> Rows:
        """An input; objects on coarser grids mostly want one without gaps."""
        payload = random_payload(self.random)
        if self.spread and self.random.random() < 0.7:
            return Rows(payload, 1, sampled=False, lost=0.0)
        same = self.random.random() < 0.93
        period = self.base if same else self.random.choice((1, 2, 3, 4, 5, 6))
        whole = self.random.random() < (0.9 if self.coarse else 0.5)
        lost = 0.0 if whole else self.random.choice((0.02, 0.1, 0.5))
        return Rows(payload, period, sampled=True, lost=lost)

    def reach(self, query: Query, looks: float) -> None:
        """Make streams so long that there are cells whose windows are full.

        But no longer than the interpreter can afford.
        """
        reaches = [
            one for _, some in resolve_boundaries(query).boundaries for one in some
        ]
        halo = max((b.back.ticks + b.ahead.ticks for _, b in reaches), default=0)
        periods = [definition.tdom.precision for definition in query.definitions]
        vectors = LANES * (7 * self.base + 2 * max(periods))
        least = halo + vectors + 2 * lcm(*periods, self.base)
        most = min(LONGEST * self.base, int(LOOKS / max(looks, 1 / self.base)))
        cells = self.random.choice(CELLS) * self.base
        self.end = self.start + (cells if least > most else min(least + cells, most))

    def stream(self, rows: Rows) -> list[Event]:
        """The events of an input."""
        spans = self.samples(rows) if rows.sampled else self.short()
        pools = self.pools(rows.payload)
        return [Event(s, e, self.payload(rows.payload, pools)) for s, e in spans]

    def samples(self, rows: Rows) -> Spans:
        """Samples, some of them lost."""
        period = rows.period
        start = self.start + self.random.choice((0, 0, 1, 2, 5))
        spans = [
            (time, time + period)
            for time in range(start, max(self.end, start + 1), period)
            if self.random.random() >= rows.lost
        ]
        return spans or [(start, start + period)]

    def short(self) -> Spans:
        """Rows of a few ticks, in some streams longer than a vector now and then."""
        longest = self.random.choice((1, 3, 6, 10, 10))
        gaps = self.random.choice((0.0, 0.0, 0.2, 0.5))
        spans = [(s, e) for s, e, gap in self.walk(longest, gaps) if not gap]
        if self.random.random() < 0.3 and spans:
            start, _ = spans[-1]
            spans[-1] = start, start + self.random.choice((17, 40, 100))
        return spans or [(self.start, self.start + 1)]


class GridWriter(QueryWriter):
    """Writes definitions whose windows and offsets are counted in cells."""

    def __init__(self, random: Random, maker: GridStreams, theme: Theme) -> None:
        super().__init__(random, exact=maker.exact)
        self.theme = theme
        self.base = maker.base
        self.looks = 0.0
        """Snapshots in all windows of a tick, on the average."""
        self.precision = 1
        self.ahead = theme.ahead or random.random() < 0.15
        self.short = not theme.long and random.random() < 0.4
        self.shared: tuple[int, int] | None = None
        self.sorts = False
        """Whether the window at hand is one of few cells, to be sorted."""

    def templates(self) -> Templates:
        if self.theme.windows and self.chance(0.85):
            return (
                (3, self.window_body),
                (3, self.summary_body),
                (1, self.trend_body),
                (1, self.difference_body),
            )
        return (
            *super().templates(),
            (4, self.difference_body),
            (5, self.summary_body),
        )

    def define(self, name: str, tdom: TDom) -> TemporalExpr:
        self.precision = tdom.precision
        return super().define(name, tdom)

    def offset(self, source: Source) -> int:
        """Mostly whole cells, and mostly of the past."""
        cells = self.random.choice(DELAYS[6:] if self.theme.delays else DELAYS)
        unit = max(source.period, self.precision)
        if self.short or unit > self.base:
            cells = min(cells, self.random.choice((1, 2, 2, 17)))
        if self.ahead and self.chance(0.3):
            cells = -self.random.choice((1, 1, 2, 7, 20))
        ragged = self.random.randint(-1, 1) if self.chance(0.1) else 0
        return -cells * unit + ragged

    def window(self, source: Source) -> tuple[int, int]:
        """A window of some cells of its object, or one that fits its reader's cells."""
        if self.shared is not None:
            return self.shared
        self.sorts = False
        hops = self.precision > source.period and self.chance(0.7)
        start, end = self.hop() if hops else self.slide(source)
        self.looks += (end - start) / source.period / self.precision
        few = end - start <= 48 * source.period and source.period == self.precision
        self.sorts = few and self.chance(0.4)
        return start, end

    def slide(self, source: Source) -> tuple[int, int]:
        unit = source.period
        cells = self.random.randint(1, 4)
        if self.precision >= unit:
            lengths = LENGTHS[:3] if self.short else LENGTHS
            least, most = self.random.choice(
                lengths[5:] if self.theme.long else lengths
            )
            cells = self.random.randint(least, most)
        if self.looks * self.base > FEW_LOOKS:
            cells = min(cells, 9)
        moved = self.chance(0.6 if self.theme.ahead or self.theme.delays else 0.2)
        end = self.offset(source) if moved else 0
        ragged = self.random.randint(0, 2) if self.chance(0.1) else 0
        return end - cells * unit - ragged, end

    def hop(self) -> tuple[int, int]:
        """A tumbling or hopping window, or one that leaves some cells out."""
        step = self.precision
        if self.chance(0.6):
            return -step, 0
        sizes = (2 * step, 3 * step, step + step // 2, max(1, step // 2))
        end = self.random.choice((0, 0, 0, -step, step if self.ahead else -step))
        return end - self.random.choice(sizes), end

    def windowed(self) -> Source:
        """Mostly an object whose cells are no longer than its reader's."""
        for _ in range(8):
            found = self.source()
            if found.period <= self.precision:
                break
        return found

    def reduction_name(self, found: list[str]) -> str:
        """Rarely one that needs a snapshot in every cell; of few cells a quantile."""
        if self.sorts and "median" in found:
            return self.random.choice(("median", "quantile"))
        found = [name for name in found if name not in WHOLE]
        name = super().reduction_name(found)
        if name in ("first", "last") and self.chance(0.8):
            return super().reduction_name(found)
        return name

    # Templates

    def query(
        self, rows: Mapping[str, Rows], tdoms: Sequence[TDom], *, specials: bool
    ) -> Query:
        """A query over inputs, with an object for each of the domains."""
        for name, one in rows.items():
            grades = {
                column: input_grade(scalar, exact=self.exact, specials=specials)
                for column, scalar in columns(one.payload)
            }
            made = Source(name, one.payload, grades, True, period=one.period)
            self.sources.append(made)
        definitions = tuple(self.define(f"o{i}", tdom) for i, tdom in enumerate(tdoms))
        names = [definition.name for definition in definitions]
        outputs = [n for n in names[:-1] if self.chance(0.4)] + names[-1:]
        inputs = tuple(Input(name, one.payload) for name, one in rows.items())
        own = tuple(self.own.values())
        return Query(None, inputs, definitions, tuple(outputs), reductions=own)

    def difference_body(self) -> Row:
        """A cell less one before it: what moving sums are often made of."""
        source = self.source()
        row: Expr = At(source.name, 0, source.type)
        late = self.column((row, source.grades))
        back = -self.random.choice((1, 1, 2, 16)) * max(source.period, self.precision)
        early: Expr = At(source.name, back, source.type)
        if isinstance(late[0], Field):
            early = Field(early, late[0].name, late[0].type)
        scalar = late[0].type
        assert isinstance(scalar, Scalar)
        if not scalar.is_float or not small(late[1]):
            return self.row(late)
        made = Binary("-", late[0], early, scalar)
        return self.row((made, self.added(scalar, late[1], late[1])))

    def summary_body(self) -> Row:
        """Several reductions side by side, most of them over one window."""
        source = self.windowed()
        outer, self.sources = self.sources, [source]
        self.shared = self.window(source)
        found: list[Graded] = [self.reduction(firm=False) for _ in range(3)]
        self.sources, self.shared = outer, None
        names = ("a", "b", "c")
        fields = []
        for name, (value, _) in zip(names, found, strict=True):
            assert isinstance(value.type, Scalar)
            fields.append((name, value.type))
        made = MakeStruct(tuple(value for value, _ in found), Struct(tuple(fields)))
        grades = [grade for _, grade in found]
        return made, dict(zip(names, grades, strict=True))


def random_grid_case(seed: int, *, exact: bool, specials: bool = False) -> Case:
    """A query and its streams; the same for the same seed.

    Mostly one that has a vector kernel, or windows that are folded over their rows:
    others are drawn anew a few times.
    """
    for attempt in range(TRIES):
        random = Random(f"grid {seed} {attempt}")  # noqa: S311 - tests, not secrets
        base, theme = random.choice((1, 1, 1, 1, 2, 3, 4, 5, 6)), random.choice(THEMES)
        tdoms = random_tdoms(random, base, theme)
        coarse = max(tdom.precision for tdom in tdoms) > base
        maker = GridStreams(random, base, exact=exact, specials=specials, coarse=coarse)
        names = "mnk"[: random.choice((1, 1, 1, 2, 2, 3))]
        rows = {name: maker.rows() for name in names}
        writer = GridWriter(random, maker, theme)
        query = writer.query(rows, tdoms, specials=specials)
        if is_special(query, rows):
            break
    maker.reach(query, writer.looks)
    events = {name: maker.stream(one) for name, one in rows.items()}
    return Case(query, events, *random_domain(random, maker))


def is_special(query: Query, rows: Mapping[str, Rows]) -> bool:
    """Tell whether it has a vector kernel, nulls for lost samples, or panes of rows."""
    layouts, sampling_grids = {}, {}
    for name, one in rows.items():
        time = TimeLayout.SAMPLED if one.sampled else TimeLayout.INTERVALS
        nullable = tuple(one.lost > 0 for _ in columns(one.payload))
        layouts[name] = Layout(time, nullable)
        sampling_grids[name] = SamplingGrid(one.period, 0)
    _, optimized = optimize(specialise(query, layouts), frozenset())[-1]
    plan = plan_vector(optimized, layouts, sampling_grids, DEFAULT_COSTS)
    if not isinstance(plan, Refusal):
        return True
    return any(
        tumbling_fold(definition, window, layouts[window.object], DEFAULT_COSTS) is None
        for definition in optimized.definitions
        for window in references(definition)[1]
        if window.object in layouts
    )


def random_tdoms(random: Random, base: int, theme: Theme) -> list[TDom]:
    """Grids of which the cells of the coarsest are whole cells of all others."""
    number = random.choice(theme.definitions)
    finest = base if random.random() < 0.93 else random.choice((1, 2, 3, 4, 5))
    factor = random.choice(theme.factors)
    precisions = [finest * random.choice((1, factor)) for _ in range(number)]
    if factor > 1 and number == 1:
        precisions = [finest * factor]
    offset = random.choice((0, 0, 1, 3))
    return [TDom(None, None, p, offset % p) for p in precisions]


def random_grid_setting(random: Random, case: Case) -> Setting:
    """Ways to run that leave most of the work to a vector kernel."""
    disabled = [name for name in PASS_NAMES if random.random() < 0.25]
    cells = random.choice((None, None, None, 1, 15, 16, 17, 50, 100))
    return Setting(
        None if cells is None else cells * multiple_of(case),
        random.choice((1, 1, 2)),
        disabled_passes=frozenset(disabled if random.random() < 0.3 else ()),
        optimize=random.random() < 0.2,
        nulls=random.choice((None, "gaps", "samples", "samples", "samples")),
        points=random.random() < 0.5,
        vector=True,
        small=random.random() < 0.6,
    )


def multiple_of(case: Case) -> int:
    """Ticks after which all grids of a case meet again."""
    periods: list[int] = [d.tdom.precision for d in case.query.definitions]
    for rows in case.events.values():
        lengths = {row.end - row.start for row in rows}
        periods += lengths if len(lengths) == 1 else ()
    return lcm(*periods)
