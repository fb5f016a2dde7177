"""PDF by pypdf: a page is a section, under the headings of the document's outline."""

import io
import logging
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from warpsmith.agent.retrieval.readers.base import Outline, Section, Unreadable, gathered

if TYPE_CHECKING:
    from pypdf import PdfReader

INSTALL = "reading PDF needs pypdf: pip install 'warpsmith[docs]'"

# What pypdf raises on a broken file besides its own errors: it does not check what it reads.
BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)


def read_pdf(data: bytes) -> tuple[Section, ...]:
    """The pages that hold text. Raises Unreadable, also without pypdf: other documents can be read still."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ModuleNotFoundError as error:
        raise Unreadable(INSTALL) from error
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # it remarks on each fault it gets over
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is encrypted; save it without a password")
        sections = gathered(_lines(reader))
    except (PyPdfError, *BROKEN) as error:
        raise Unreadable(f"it is a broken PDF: {type(error).__name__}: {error!s:.200}") from error
    if not any(section.text.strip() for section in sections):
        raise Unreadable("its pages hold no text; a scan has to be recognized first")
    return sections


def _lines(reader: "PdfReader") -> Iterator[tuple[tuple[str, ...], str]]:
    marks: dict[int, list[tuple[int, str]]] = {}  # page -> headings that begin on it, with their levels
    for number, level, heading in _marks(reader, reader.outline, 1):
        marks.setdefault(number, []).append((level, heading))
    outline = Outline()
    for number, page in enumerate(reader.pages):
        for level, heading in marks.get(number, ()):
            outline.enter(level, heading)
        yield (*outline.headings, f"page {number + 1}"), page.extract_text()


def _marks(reader: "PdfReader", items: list[Any], level: int) -> Iterator[tuple[int, int, str]]:
    """(page from 0, level, heading) of an outline: a list after an entry holds what is below it."""
    for item in items:
        if isinstance(item, list):
            yield from _marks(reader, item, level + 1)
            continue
        page = reader.get_destination_page_number(item)
        if page is not None and item.title:
            yield page, level, str(item.title)
