"""How threads lie over a row."""

from collections.abc import Iterator
from dataclasses import dataclass

from warpsmith.policy.builtin.recipes.base import Variant
from warpsmith.policy.builtin.recipes.row_domain import Domain

LANES = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2)
MAX_HELD = 32  # elements of one value that a thread holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """`lanes` threads share a row; each takes `vectors` of `width` columns at a trip, `lanes` vectors apart.

    With `splits` blocks to a row, they take its trips in turn. Rows that lie side by side in memory (where
    other than the last axes are reduced) go to neighbouring threads, which so read neighbouring elements.
    """

    num_cols: int
    lanes: int
    width: int
    vectors: int
    rows_per_block: int
    splits: int = 1
    is_side_by_side: bool = False

    @classmethod
    def of(cls, variant: Variant, domain: Domain) -> "Layout":
        """That of a variant which `variant` made, over the rows of `domain`."""
        return cls(
            num_cols=domain.num_cols,
            lanes=variant.number("lanes"),
            width=variant.number("width"),
            vectors=variant.number("vectors"),
            rows_per_block=variant.number("rows"),
            is_side_by_side=domain.is_side_by_side,
        )

    @property
    def variant(self) -> Variant:
        """The way of writing a group that it stands for."""
        settings = {
            "lanes": self.lanes,
            "width": self.width,
            "vectors": self.vectors,
            "rows": self.rows_per_block,
        }
        return Variant(name=str(self), settings=settings)

    @property
    def threads(self) -> int:
        return self.lanes * self.rows_per_block

    @property
    def held(self) -> int:
        """Elements that a thread has of a row at a time."""
        return self.vectors * self.width

    @property
    def trip_cols(self) -> int:
        """Columns that a trip covers."""
        return self.lanes * self.held

    @property
    def num_trips(self) -> int:
        return -(-self.num_cols // self.trip_cols)

    @property
    def is_streamed(self) -> bool:
        """The row does not fit into the registers of its threads."""
        return self.num_trips > 1

    @property
    def trip_constants(self) -> list[str]:
        """The constants of a kernel that goes over a row in trips."""
        return [
            f"constexpr int kCols = {self.num_cols};",
            *self.thread_constants(when=" at a trip"),
            "constexpr int kTrip = kLanes * kVectors * kWidth;  // columns",
        ]

    def thread_constants(self, when: str = "") -> list[str]:
        """How threads lie over rows, and what each takes (`when`: " at a trip")."""
        return [
            f"constexpr int kLanes = {self.lanes};  // threads that share a row",
            f"constexpr int kRowsPerBlock = {self.rows_per_block};",
            f"constexpr int kWidth = {self.width};  // elements of a vector",
            f"constexpr int kVectors = {self.vectors};  // vectors that a thread takes{when}",
        ]

    @property
    def trips_text(self) -> str:
        """The head of the loop over trips."""
        first, step = ("blockIdx.x * kTrip", "gridDim.x * kTrip") if self.splits > 1 else ("0", "kTrip")
        return f"for (int start = {first}; start < kCols; start += {step}) {{"

    @property
    def is_exact(self) -> bool:
        """Every thread has work in every trip."""
        return self.num_cols % self.trip_cols == 0

    @property
    def busy(self) -> float:
        """The share of the threads' slots that hold a column."""
        return self.num_cols / (self.num_trips * self.trip_cols)

    def __str__(self) -> str:
        trips = f" in {self.num_trips} trips" if self.is_streamed else ""
        blocks = f"{self.splits} blocks a row" if self.splits > 1 else f"{self.rows_per_block} rows a block"
        return f"{self.lanes} threads a row, {self.vectors} x {self.width} elements each{trips}, {blocks}"


def held_layouts(num_cols: int, widths: tuple[int, ...], num_kept: int) -> Iterator[Layout]:
    """Layouts that hold a whole row in registers, best guess first."""
    found = [
        layout
        for width in widths
        for lanes in LANES
        if (layout := _held(num_cols, lanes, width)).held * max(num_kept, 1) <= _held_limit(layout.threads)
        and (layout.busy > 0.5 or lanes == LANES[-1])
    ]
    yield from sorted(found, key=lambda layout: _awkwardness(layout, widths, num_kept))


def streamed_layouts(num_cols: int, widths: tuple[int, ...]) -> Iterator[Layout]:
    """Layouts for rows of any length, several trips a row."""
    for lanes, vectors in ((1024, 4), (512, 4), (256, 8), (256, 4), (1024, 8), (512, 2)):
        for width in widths[:1]:
            yield Layout(num_cols=num_cols, lanes=lanes, width=width, vectors=vectors, rows_per_block=1)


def side_layouts(num_cols: int, num_kept: int) -> Iterator[Layout]:
    """Layouts for rows that lie side by side: the few lanes of a row meet in shared memory."""
    shapes = [
        (lanes, rows) for lanes in (8, 4, 16, 2, 1, 32) for rows in (32, 64) if 128 <= lanes * rows <= 1024
    ]
    for lanes, rows in [*shapes, (1, 128)]:
        held = -(-num_cols // lanes)
        fits = held * max(num_kept, 1) <= MAX_HELD
        layout = Layout(
            num_cols=num_cols,
            lanes=lanes,
            width=1,
            vectors=held if fits else 8,
            rows_per_block=rows,
            is_side_by_side=True,
        )
        if num_cols >= lanes:
            yield layout


def _held(num_cols: int, lanes: int, width: int) -> Layout:
    vectors = max(1, -(-num_cols // (lanes * width)))
    rows = max(1, 128 // lanes)
    return Layout(num_cols=num_cols, lanes=lanes, width=width, vectors=vectors, rows_per_block=rows)


def _held_limit(threads: int) -> int:
    """Registers for what is kept: all but what addresses and arithmetic take."""
    return min(2 * MAX_HELD, 65536 // threads - 28)


def _awkwardness(layout: Layout, widths: tuple[int, ...], num_kept: int) -> tuple[float, ...]:
    # Wide vectors first, idle threads next. Then, as on an H200: 8 elements a thread, 16 of a long row.
    goal = (16 if layout.num_cols > 1024 else 8) / max(num_kept, 1)
    distance = max(layout.held / goal, goal / layout.held)
    return (widths.index(layout.width), round(4 / layout.busy), distance, layout.lanes)
