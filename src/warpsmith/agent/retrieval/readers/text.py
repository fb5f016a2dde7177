"""Bytes as text: what is none is told."""

import codecs

from warpsmith.agent.retrieval.readers.base import Section, Unreadable

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decoded(data: bytes, encoding: str = "utf-8") -> str:
    """`data` in the encoding that its first bytes tell, else in `encoding`. Raises Unreadable."""
    named = next((name for mark, name in MARKS if data.startswith(mark)), encoding)
    try:
        text = data.decode(named)
    except (UnicodeDecodeError, LookupError) as error:
        raise Unreadable(f"it is no text in {named}") from error
    if "\0" in text:
        raise Unreadable("it is a binary file: there are null characters in it")
    return text.replace("\r\n", "\n")


def read_plain(data: bytes) -> tuple[Section, ...]:
    """All of it under no heading."""
    text = decoded(data).strip("\n")
    return (Section(headings=(), text=text),) if text else ()
