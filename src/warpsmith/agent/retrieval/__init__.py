"""Retrieval: notes of our own and the user's documents, cut by heading, found by words."""

from warpsmith.agent.retrieval.index import Excerpt, Listed
from warpsmith.agent.retrieval.library import Added, Library, default_library
from warpsmith.agent.retrieval.shipped import page_names, page_text, shipped

__all__ = ["Added", "Excerpt", "Library", "Listed", "default_library", "page_names", "page_text", "shipped"]
