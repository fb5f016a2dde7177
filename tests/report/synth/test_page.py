"""The page is whole, loads nothing, and shows literally whatever a task's file says."""

import io
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from warpsmith.report.synth.charts import Axis, Bar, Mark, bars, histogram
from warpsmith.report.synth.gather import facts_of
from warpsmith.report.synth.histogram import Histogram, log_histogram, unit_histogram
from warpsmith.report.synth.html import element, table
from warpsmith.report.synth.page import page
from warpsmith.report.synth.terminal import short
from warpsmith.tasks.synth.filters import Reason, Stage

VOID = {"meta", "line", "rect"}
HOSTILE = (
    "</title></style><script src=https://example.org/x.js>alert('1')</script><img src=x onerror=y>\x1b[31m"
)


class Elements(HTMLParser):
    """All elements with their attributes, and that each is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.said = ""
        self._open = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.said += data

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture
def hostile(steps):
    """A folder in which all text that a stranger writes is HTML."""
    row = steps.made(1)
    task = type(row.task)(task_id=HOSTILE, source="x = 1", provenance=HOSTILE)
    rows = [
        steps.timed(steps.made(1, task=task, operators=(HOSTILE,), source=HOSTILE, split=HOSTILE), 2e3),
        steps.timed(steps.made(2), 3e3),
    ]
    steps.crawl(HOSTILE, library=HOSTILE, licence=HOSTILE)
    steps.compose(*rows)
    refused = steps.rejected(rows[0], Stage.RUN, Reason.FORWARD_RAISES, HOSTILE)
    steps.filter(rows, [refused, steps.kept(rows[1])])
    steps.recheck(refused)
    near = steps.neighbour(rows[0], other=HOSTILE)
    steps.decontaminate(rows, steps.comparison(1, near, histogram=(1,) * 20), steps.comparison(1))
    return facts_of(steps.path)


def test_nothing_that_a_stranger_wrote_becomes_an_element(hostile):
    elements = Elements(page(hostile))
    names = {name for name, _ in elements.found}
    assert not names & {"script", "img", "link", "iframe", "object"}
    assert len(elements.of("style")) == 1
    assert elements.said.count("<script src=https://example.org/x.js>") >= 8
    assert "\x1b" not in elements.said
    assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)


def test_the_page_asks_for_nothing_from_anywhere(hostile):
    text = page(hostile)
    assert "default-src 'none'" in Elements(text).of("meta")[1]["content"]
    for tag, attributes in Elements(text).found:
        assert not {"src", "href"} & attributes.keys(), tag
    assert "url(" not in text
    assert "@import" not in text


def test_the_terminal_gets_no_control_characters(hostile):
    stream = io.StringIO()
    console = Console(file=stream, width=100)
    for part in short(hostile):
        console.print(part)
    assert "\x1b" not in stream.getvalue()
    assert "<script" in stream.getvalue()


def test_the_page_of_an_empty_folder_names_every_step(steps):
    steps.path.mkdir()
    said = Elements(page(facts_of(steps.path))).said
    for step in ("crawl", "compose", "filter", "decontaminate"):
        assert f"`warpsmith synth {step}` has not been run" in said


def test_a_page_of_a_set_without_tasks_is_a_page(steps):
    steps.compose()
    steps.filter([], [])
    steps.decontaminate([], steps.comparison(0, histogram=(0,) * 20), steps.comparison(0))
    assert "0 composed → 0 filtered → 0 decontaminated" in Elements(page(facts_of(steps.path))).said


def test_the_same_folder_gives_the_same_page(steps):
    steps.compose(*(steps.made(number) for number in range(20)))
    assert page(facts_of(steps.path)) == page(facts_of(steps.path))


def test_names_and_numbers_have_columns_of_their_own():
    cells = Elements(table(("a & b", "n"), [("<i>", "3")], numbers="tn"))
    assert [attributes["class"] for attributes in cells.of("td")] == ["t", "n"]
    assert cells.said == "a & bn<i>3"


def test_an_attribute_cannot_be_left():
    assert element("text", "x", aria_label='"><script>') == (
        '<text aria-label="&quot;&gt;&lt;script&gt;">x</text>'
    )


def test_bars_are_as_long_as_their_values_are_to_each_other():
    drawn = Elements(bars([Bar(name="a", value=4, said="4"), Bar(name="b", value=1, said="1")], label="l"))
    long, short_ = (float(box["width"]) for box in drawn.of("rect"))
    assert long == pytest.approx(4 * short_, rel=1e-4)


def test_columns_are_as_high_as_their_counts_and_stand_on_the_floor():
    drawn = Elements(histogram(unit_histogram([1, 0, 3, 2]), Axis(name="x", ticks=(0.5,)), label="l"))
    boxes = [(float(box["y"]), float(box["height"])) for box in drawn.of("rect")]
    assert len(boxes) == 3  # an empty bin has none
    assert boxes[1][1] == pytest.approx(3 * boxes[0][1])
    assert len({round(y + height, 3) for y, height in boxes}) == 1


def test_a_mark_is_where_its_value_is_and_one_outside_is_left_out():
    found = Histogram(edges=(1.0, 10.0, 100.0), counts=(2, 1), is_log=True)
    marks = (Mark(value=10.0, said="ten"), Mark(value=1000.0, said="far"), Mark(value=0.5, said="before"))
    drawn = histogram(found, Axis(name="ms", ticks=()), marks, label="l")
    assert re.findall(r">(ten|far|before)<", drawn) == ["ten"]
    line = next(line for line in Elements(drawn).of("line") if line["class"] == "mark")
    boxes = Elements(drawn).of("rect")
    assert float(line["x1"]) == pytest.approx(float(boxes[1]["x"]) - 0.5, abs=0.01)


@pytest.mark.parametrize(("most", "ticks"), [(100.0, (1, 2, 5, 10, 20, 50, 100)), (1e6, (1, 10, 100))])
def test_an_axis_in_decades_has_as_many_numbers_as_one_can_read(most, ticks):
    found = Axis.of_decades("ms", log_histogram([1.0, most]).edges).ticks
    assert found[: len(ticks)] == ticks
