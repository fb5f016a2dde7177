"""Whatever is typed: an expression that FTS5 takes, with the names in it."""

import random
import sys

import pytest

from warpsmith.agent.retrieval import shipped
from warpsmith.agent.retrieval.query import MAX_TERMS, expression

HOSTILE = [
    '"',
    '""',
    "'",
    "*",
    "a*",
    "^bank",
    "NEAR(bank conflicts)",
    "bank AND",
    "OR OR OR",
    "NOT warp",
    "text: bank",
    "{name heading}: bank",
    "-bank",
    "bank) OR (",
    '"bank" - "conflict',
    "a" * 100_000,
    "bank " * 100_000,
    "bank\0conflict",
    "\ud800 bank",
    "ﬁ ß İ ١٢ ² ℵ 共有 🧮",
    "a\u0301\u0300",
    "; DROP TABLE documents; --",
    "?1 :x @y $z",
]


def test_names_are_looked_for_whole_and_in_parts():
    assert expression("How do I use cp.async and __shfl_xor_sync?") == (
        '"cp.async" OR "shfl_xor_sync" OR "cp" OR "async" OR "shfl" OR "xor" OR "sync"'
    )


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others():
    assert expression("what is the floor of it") == '"floor"'
    assert expression("what is it") == '"what" OR "is" OR "it"'


@pytest.mark.parametrize("query", ["", "   ", "?!", "--", "_", "\n", '"', "()"])
def test_a_query_without_a_word_has_no_expression(query):
    assert expression(query) == ""
    assert shipped(query, 3) == ()


def test_a_long_query_is_cut():
    assert expression(" ".join(f"w{n}" for n in range(10_000))).count(" OR ") == MAX_TERMS - 1


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: repr(query[:20]))
def test_no_query_is_a_syntax_error(query, index):
    index.search(query, 3)


def test_no_text_at_all_is_a_syntax_error(index):
    rng = random.Random(3)
    for _ in range(300):
        marks = [chr(rng.choice((rng.randrange(128), rng.randrange(sys.maxunicode)))) for _ in range(12)]
        index.search("".join(marks), 3)
