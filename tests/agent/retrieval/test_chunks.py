"""Chunks: by heading as far as that fits, never too long, nothing lost."""

import random
from itertools import pairwise

import pytest

from warpsmith.agent.retrieval.chunks import MAX_BYTES, MAX_TOKENS, OVERLAP_BYTES, OVERLAP_TOKENS, chunks
from warpsmith.agent.retrieval.readers.markdown import read_markdown

WORDS = ("warp", "lane", "tile", "bank", "größer", "共有", "🧮", "x")


def cut(text):
    return [(chunk.heading, chunk.text) for chunk in chunks(read_markdown(text.encode()))]


def words(count, seed=0):
    rng = random.Random(seed)
    return [f"{rng.choice(WORDS)}{number}" for number in range(count)]


def test_the_limits_are_those_that_are_told():
    assert (MAX_TOKENS, OVERLAP_TOKENS) == (1_000, 100)


def test_a_small_document_is_one_chunk_under_its_title():
    assert cut("# A\ntext\n## B\nmore") == [("A", "text\n\n## B\nmore")]


def test_what_does_not_fit_together_is_cut_at_its_headings():
    long = "x " * 800
    found = cut(f"# A\nintro\n## B\n{long}\n### C\nsmall\n## D\n{long}\n### E\n{long}")
    assert [heading for heading, _ in found] == ["A", "A > B", "A > D", "A > D > E"]
    assert found[1][1].endswith("### C\nsmall")


@pytest.mark.parametrize("sep", ["\n", " ", ""])
def test_a_long_text_is_cut_with_an_overlap_and_nothing_is_lost(sep):
    given = words(3_000)
    found = [text for _, text in cut("# A\n" + sep.join(given))]
    assert len(found) > 2
    assert all(len(text.encode()) <= MAX_BYTES for text in found)
    joined = "".join(found)
    if sep:
        assert all(word in joined for word in given)
    if sep == "\n":
        for before, after in pairwise(found):
            shared = after.split("\n").index(before.split("\n")[-1]) + 1
            overlap = "\n".join(after.split("\n")[:shared])
            assert before.endswith(overlap)
            assert OVERLAP_BYTES - 40 < len(overlap.encode()) <= OVERLAP_BYTES


def test_no_chunk_is_too_long_whatever_the_document():
    rng = random.Random(1)
    for seed in range(30):
        parts = []
        for _ in range(rng.randrange(1, 12)):
            text = rng.choice(" ,\n").join(words(rng.randrange(900), seed))
            parts += [f"{'#' * rng.randrange(7)} {rng.choice(('', 'H'))}", text]
        for heading, text in cut("\n".join(parts)):
            assert text.strip()
            assert len(text.encode()) <= MAX_BYTES, heading


def test_a_heading_without_text_is_no_chunk_and_is_not_lost():
    assert cut("# A\n## B\ntext") == [("A > B", "text")]
    assert cut("# A\ntext\n## B\n### C\nmore\n# D") == [("A", "text\n\n## B\n\n### C\nmore\n\n# D")]
    assert cut("") == []
