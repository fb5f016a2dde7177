"""HTML out of elements: what is not an element already is text from outside, and is escaped."""

import html
from collections.abc import Iterable

from warpsmith.report.plain import printable

VOID = frozenset({"meta", "line", "rect"})  # elements that we write without content, unless there is some


class Html(str):
    """HTML, as opposed to text: `element` and `joined` make it, nothing else does."""

    __slots__ = ()


Content = Html | str


def text(content: Content) -> Html:
    """`content` so that a browser shows it literally."""
    return content if isinstance(content, Html) else Html(html.escape(printable(content)))


def joined(parts: Iterable[Content]) -> Html:
    """One after the other."""
    return Html("".join(map(text, parts)))


def element(tag: str, /, *content: Content, **attributes: str | float) -> Html:
    """`<tag attribute="…">content</tag>`; `class_` is the attribute class, `stroke_width` stroke-width."""
    head = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()
    )
    if tag in VOID and not content:
        return Html(f"<{tag}{head}/>")
    return Html(f"<{tag}{head}>{joined(content)}</{tag}>")


def _value(value: str | float) -> str:
    return html.escape(printable(value)) if isinstance(value, str) else f"{value:.6g}"


def table(header: Iterable[Content], rows: Iterable[Iterable[Content]], *, numbers: str = "") -> Html:
    """A table; `numbers` says column by column what it holds, "n" a number and "t" text."""
    kinds = {at: "n" for at, kind in enumerate(numbers) if kind == "n"}
    head = element("tr", *(element("th", cell, class_=kinds.get(at, "t")) for at, cell in enumerate(header)))
    body = [
        element("tr", *(element("td", cell, class_=kinds.get(at, "t")) for at, cell in enumerate(row)))
        for row in rows
    ]
    whole = element("table", element("thead", head), element("tbody", *body))
    return element("div", whole, class_="wide")
