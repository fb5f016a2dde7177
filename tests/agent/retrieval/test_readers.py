"""What each reader finds in a file, and what it says of one that it cannot read."""

import io
import time

import pytest

from warpsmith.agent.retrieval.readers import READERS, Unreadable, content_of


def sections(suffix, content):
    data = content if isinstance(content, bytes) else content.encode()
    return [(section.headings, section.text) for section in READERS[suffix](data)]


def test_markdown_s_headings_nest_and_fences_hold_none():
    text = "before\n\n# A #\ntext\n\n## B\n```python\n# no heading\n```\nmore\n\nC\n===\n\nD\n---\nlast\n"
    assert sections(".md", text) == [
        ((), "before"),
        (("A",), "text"),
        (("A", "B"), "```python\n# no heading\n```\nmore"),
        (("C",), ""),
        (("C", "D"), "last"),
    ]


@pytest.mark.parametrize(
    "text",
    ["#include <x>", "####### seven", "- item\n---", "\n---\n", "| a |\n---", "    code\n---", "~~~\n# x"],
)
def test_what_looks_like_a_heading_of_markdown_and_is_none(text):
    assert sections(".md", text) == [((), text.strip("\n"))]


def test_a_longer_fence_holds_a_shorter_one():
    text = "````\n```\n# no\n````\n# Yes\n"
    assert sections(".md", text) == [((), "````\n```\n# no\n````"), (("Yes",), "")]


def test_marks_of_restructured_text_rank_as_they_come():
    text = "=====\nTitle\n=====\n\nOne\n===\ntext\n\nTwo\n---\nmore\n\nThree\n=====\n- a\n- b\n\n-----\n"
    assert sections(".rst", text) == [
        (("Title",), ""),
        (("Title", "One"), "text"),
        (("Title", "One", "Two"), "more"),
        (("Title", "Three"), "- a\n- b\n\n-----"),
    ]


def test_html_keeps_what_is_said_and_leaves_out_what_guides():
    text = """<html><head><title>t</title><style>h1 {}</style></head><body><nav class="a">Home <b>x</b></nav>
    <!-- <p>no</p> --><svg/>
    <h1>Copies <a href="#c">¶</a></h1><p>A &amp; B<br>next</p><script>var x = "<p>";</script>
    <h2><p>Of tiles</p></h2><pre>for (;;)\n  run();</pre><table><tr><td>1</td><td>2</td></tr></table>
    <footer>(c)</footer></body>"""
    assert sections(".html", text) == [
        (("Copies",), "A & B\nnext"),
        (("Copies", "Of tiles"), "for (;;)\n  run();\n1 2"),
    ]


def test_html_is_read_in_the_character_set_that_it_names():
    assert sections(".htm", b'<meta charset="latin-1"><p>caf\xe9') == [((), "café")]


@pytest.mark.parametrize(
    "text", ["<p", "<p><b>x", "</p></div>x", "<![CDATA[x", "<!-- x", "<a b='", "&#xFFFFFFF;"]
)
def test_broken_html_is_no_error(text):
    sections(".html", text)


@pytest.mark.parametrize(
    "piece", ["<", "<a b='", "<!--", "<nav>", "</nav", "<h1>", "<pre>", "&", "<p x", "<!"]
)
def test_broken_html_takes_no_longer_than_whole_html(piece):
    begun = time.process_time()
    sections(".html", piece * (300_000 // len(piece)))
    assert time.process_time() - begun < 2.0


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\x01x", b"\x80abc", b"a\0b", b"\x7fELF\0\0"])
@pytest.mark.parametrize("suffix", [".md", ".txt", ".html", ".rst"])
def test_a_binary_file_is_told(suffix, data):
    with pytest.raises(Unreadable, match=r"no text in|binary"):
        sections(suffix, data)


def test_a_mark_at_the_beginning_tells_the_encoding():
    assert sections(".txt", "naïve\r\ntext".encode("utf-16")) == [((), "naïve\ntext")]
    assert sections(".md", "\ufeff# A".encode()) == [(("A",), "")]


def test_unknown_encodings_and_kinds_and_empty_files_are_told(write):
    with pytest.raises(Unreadable, match="no text in made-up"):
        sections(".html", '<meta charset="made-up"><p>x')
    with pytest.raises(Unreadable, match=r"accepted are \.md, "):
        content_of(write("a.docx", "x"))
    with pytest.raises(Unreadable, match="no text in it"):
        content_of(write("empty.md", "\n")).sections()


def pdf(*pages, outline=(), password=None):
    """A document with a line of text a page."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(200, 200)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Contents")] = stream
    above = None
    for page, title in outline:
        above = writer.add_outline_item(title=title, page_number=page, parent=above)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_page_of_a_pdf_lies_under_its_outline():
    pytest.importorskip("pypdf")
    data = pdf("first", "second", outline=[(0, "Chapter"), (1, "Part")])
    assert sections(".pdf", data) == [
        (("Chapter", "page 1"), "first"),
        (("Chapter", "Part", "page 2"), "second"),
    ]


def test_a_pdf_that_cannot_be_read_is_told():
    pytest.importorskip("pypdf")
    whole = pdf("first")
    for data, told in (
        (b"%PDF-1.7 nonsense", "broken PDF"),
        (b"", "broken PDF"),
        (bytes(range(256)) * 40, "broken PDF"),
        (pdf(""), "hold no text"),
        (pdf("x", password="secret"), "encrypted"),
    ):
        with pytest.raises(Unreadable, match=told):
            sections(".pdf", data)
    for end in range(0, len(whole), 37):  # a download that broke off
        try:
            sections(".pdf", whole[:end])
        except Unreadable:
            continue


def test_without_pypdf_a_pdf_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    with pytest.raises(Unreadable, match=r"pip install 'warpsmith\[docs\]'"):
        sections(".pdf", b"%PDF")
