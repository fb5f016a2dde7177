"""Which files can be read, by the end of their names."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from warpsmith.agent.retrieval.readers.base import Section, Unreadable
from warpsmith.agent.retrieval.readers.html import read_html
from warpsmith.agent.retrieval.readers.markdown import read_markdown
from warpsmith.agent.retrieval.readers.pdf import read_pdf
from warpsmith.agent.retrieval.readers.rst import read_rst
from warpsmith.agent.retrieval.readers.text import read_plain

__all__ = ["READERS", "Content", "Section", "Unreadable", "content_of"]

READERS: dict[str, Callable[[bytes], tuple[Section, ...]]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".rst": read_rst,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
    ".txt": read_plain,
}
MAX_BYTES = 128 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a file holds, not read yet: `sections` does that."""

    data: bytes
    suffix: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def sections(self) -> tuple[Section, ...]:
        """Never empty. Raises Unreadable."""
        sections = READERS[self.suffix](self.data)
        if not sections:
            raise Unreadable("there is no text in it")
        return sections


def content_of(path: Path) -> Content:
    """Raises Unreadable if `path` is no regular file that can be read and has a reader."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise Unreadable(f"files of this kind are not read; accepted are {', '.join(READERS)}")
    try:
        if not path.is_file():
            raise Unreadable("it is no file")
        if (num_bytes := path.stat().st_size) > MAX_BYTES:
            raise Unreadable(f"it has {num_bytes >> 20} MiB; {MAX_BYTES >> 20} at most are read")
        return Content(data=path.read_bytes(), suffix=suffix)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror or error}") from error
