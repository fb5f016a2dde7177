"""Two kinds of chart as SVG inside a page: bars with names, and histograms. Colours are the page's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.report.plain import one_line
from warpsmith.report.synth.histogram import Histogram
from warpsmith.report.synth.html import Html, element

WIDTH = 900
NAMES = 300  # of which the names take so much
NUMBERS = 200  # and what stands behind a bar
ROW = 24
NAME_CHARACTERS = 46

HEIGHT = 180  # of a histogram's highest column
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 20, 44
MARK_ROW = 15  # so high is what is written at a mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A name, how long its bar is, and what is written behind it."""

    name: str
    value: float
    said: str
    beside: float | None = None  # drawn as a thin bar below: what one compares with
    tip: str = ""  # shown by a browser that points at it


def bars(rows: Sequence[Bar], *, label: str) -> Html:
    """One below the other, the longest as wide as there is room."""
    longest = max((max(row.value, row.beside or 0.0) for row in rows), default=0.0) or 1.0
    scale = (WIDTH - NAMES - NUMBERS) / longest
    drawn = [_bar(row, ROW * at, scale) for at, row in enumerate(rows)]
    return _svg(drawn, ROW * len(rows), label)


def _bar(row: Bar, y: float, scale: float) -> Html:
    width = scale * row.value
    parts = [
        element("title", row.tip or f"{row.name}: {row.said}"),
        _words(one_line(row.name, NAME_CHARACTERS), NAMES - 10, y + 16, anchor="end"),
        element("rect", x=NAMES, y=y + 4, width=width, height=12, class_="bar"),
    ]
    end = width
    if row.beside is not None:
        end = max(width, scale * row.beside)
        parts.append(element("rect", x=NAMES, y=y + 17, width=scale * row.beside, height=4, class_="beside"))
    parts.append(_words(row.said, NAMES + end + 8, y + 15, class_="said"))
    return element("g", *parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A line across a histogram."""

    value: float
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What is along the bottom: its name, and where a number is written."""

    name: str
    ticks: tuple[float, ...]

    @classmethod
    def of_decades(cls, name: str, edges: Sequence[float]) -> "Axis":
        """1, 2 and 5 of each decade; of many decades 1 alone."""
        low, high = edges[0], edges[-1]
        steps = (1.0, 2.0, 5.0) if math.log10(high / low) <= 4 else (1.0,)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [step * 10.0**decade for decade in decades for step in steps]
        return cls(name=name, ticks=tuple(tick for tick in found if low * 0.999 <= tick <= high * 1.001))


def histogram(found: Histogram, axis: Axis, marks: Sequence[Mark] = (), *, label: str) -> Html:
    """Counts upwards; a mark that lies outside is left out."""
    inside = [mark for mark in marks if 0.0 <= found.place(mark.value) <= 1.0]
    frame = _Frame(found=found, top=TOP + MARK_ROW * len(inside))
    parts = [frame.level(count) for count in range(0, frame.most + 1, frame.step)]
    parts += [frame.column(*bin_) for bin_ in found.bins if bin_[2]]
    parts += [frame.tick(tick) for tick in axis.ticks]
    parts += [frame.mark(mark, at) for at, mark in enumerate(inside)]
    parts.append(_words(axis.name, WIDTH - RIGHT, frame.floor + BOTTOM - 6, anchor="end", class_="axis"))
    return _svg(parts, frame.floor + BOTTOM, label)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Where numbers are drawn, in the SVG's units; y grows downwards."""

    found: Histogram
    top: float

    @property
    def step(self) -> int:
        """Between two levels: 1, 2 or 5 times a power of ten, for up to 5 of them."""
        rough = max(1.0, max(self.found.counts) / 5)
        power = int(10.0 ** math.floor(math.log10(rough)))
        return next(power * step for step in (1, 2, 5, 10) if power * step >= rough)

    @property
    def most(self) -> int:
        """The highest level."""
        return self.step * max(1, math.ceil(max(self.found.counts) / self.step))

    @property
    def floor(self) -> float:
        return self.top + HEIGHT

    def x(self, value: float) -> float:
        return LEFT + self.found.place(value) * (WIDTH - LEFT - RIGHT)

    def y(self, count: float) -> float:
        return self.floor - HEIGHT * count / self.most

    def level(self, count: int) -> Html:
        y = self.y(count)
        line = element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
        return element("g", line, _words(str(count), LEFT - 8, y + 4, anchor="end", class_="axis"))

    def column(self, low: float, high: float, count: int) -> Html:
        left, right, y = self.x(low), self.x(high), self.y(count)
        title = element("title", f"{low:.3g} to {high:.3g}: {count}")
        box = {"x": left + 0.5, "y": y, "width": max(0.5, right - left - 1), "height": self.floor - y}
        return element("rect", title, class_="bar", **box)

    def tick(self, value: float) -> Html:
        x = self.x(value)
        line = element("line", x1=x, x2=x, y1=self.floor, y2=self.floor + 5, class_="grid")
        words = _words(f"{value:g}", x, self.floor + 19, anchor="middle", class_="axis")
        return element("g", line, words)

    def mark(self, mark: Mark, row: int) -> Html:
        """Words of several marks are one below the other, lest they overlap."""
        x, y = self.x(mark.value), TOP - 6 + MARK_ROW * row
        anchor, aside = ("end", -6) if x > WIDTH / 2 else ("start", 6)
        line = element("line", x1=x, x2=x, y1=y - 8, y2=self.floor, class_="mark")
        return element("g", line, _words(mark.said, x + aside, y, anchor=anchor))


def _words(said: str, x: float, y: float, *, anchor: str = "start", class_: str = "words") -> Html:
    return element("text", said, x=x, y=y, text_anchor=anchor, class_=class_)


def _svg(parts: Sequence[Html], height: float, label: str) -> Html:
    drawn = element("svg", *parts, viewBox=f"0 0 {WIDTH} {height:g}", role="img", aria_label=label)
    return element("div", drawn, class_="wide")
