"""How often the page that answers a question is among the first: by weights, and beside a user's documents.

    python -m benchmarks.retrieval [--documents DIR] [--runs DIR] [--json FILE]

The questions are those of tests/agent/retrieval: `tuned` ones were seen while the pages got their "Other
words", `held out` ones were written afterwards and asked once. A folder of other people's documents
(`--documents`) is read into an index beside ours: then our pages share the answers with it. So do they with
notes: `--runs` accepts one of each run below a folder that is no slower than eager. Exit code 1 if a search
as the tool makes it misses the target.
"""

import argparse
import datetime
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from warpsmith.agent.memory.distilling import Distilling, distilled
from warpsmith.agent.memory.nouns import State
from warpsmith.agent.memory.proposing import proposing
from warpsmith.agent.retrieval import Excerpt, Library
from warpsmith.agent.retrieval.index import WEIGHTS
from warpsmith.agent.retrieval.shipped import ORIGIN, own_index, page_names
from warpsmith.agent.skills import run_folders
from warpsmith.tasks.synth.skills import Left

QUESTIONS = Path(__file__).parents[1] / "tests" / "agent" / "retrieval" / "questions.jsonl"
TARGET_HIT_AT_5 = 0.95
DEPTH = 10
ROW = "{what:44} {hit_at_1:>6} {hit_at_3:>6} {hit_at_5:>6} {mean_reciprocal_rank:>6} {median_ms:>9}\n"

Search = Callable[[str], Sequence[Excerpt]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One line of the table."""

    what: str
    hit_at_1: float
    hit_at_3: float
    hit_at_5: float
    mean_reciprocal_rank: float
    median_ms: float


def main() -> int:
    """Print the table; 1 if a search as the tool makes it misses the target."""
    options = arguments()
    questions = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
    groups = {group: [one for one in questions if one["group"] == group] for group in ("tuned", "held out")}
    with own_index() as index, tempfile.TemporaryDirectory() as folder:
        library = Library(folder=Path(folder))
        table = [
            figures(f"{group} ({len(asked)}), weights {weights}", asked, weighted(index.search, weights))
            for group, asked in groups.items()
            for weights in (WEIGHTS, (1.0, 1.0, 1.0))
        ]
        beside = []
        if options.documents:
            beside.append(f"{library.add([options.documents]).num_read} documents")
        if options.runs:
            beside.append(f"{num_accepted(library, options.runs)} notes")
        what = f"all, beside {' and '.join(beside)}" if beside else "all, as the tool searches"
        table.append(figures(what, questions, lambda query: library.search(query, DEPTH)))
    show(table, len(questions))
    if options.json:
        options.json.write_text(json.dumps(report(table, len(questions)), indent=1) + "\n")
    return 0 if table[-1].hit_at_5 >= TARGET_HIT_AT_5 else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=Path, help="a folder of other documents")
    parser.add_argument("--runs", type=Path, help="a folder of runs, to be distilled into notes")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args()


def num_accepted(library: Library, runs: Path) -> int:
    """How many notes of the runs below a folder were accepted."""
    found = distilled(run_folders(runs), Distilling(margin=0.0))
    new = proposing((one for one in found if not isinstance(one, Left)), (), ()).new
    library.notes.put(new)
    library.notes.move([note.note_id for note in new], State.ACCEPTED)
    return len(new)


def weighted(
    search: Callable[[str, int, tuple[float, float, float]], Sequence[Excerpt]],
    weights: tuple[float, float, float],
) -> Search:
    return lambda query: search(query, DEPTH, weights)


def figures(what: str, questions: list[dict[str, str]], search: Search) -> Figures:
    """Ranks of the wanted pages; the time includes the making of an index where a search does that."""
    ranks, times_ms = [], []
    for one in questions:
        begun = time.perf_counter()
        found = search(one["question"])
        times_ms.append((time.perf_counter() - begun) * 1e3)
        sources = [excerpt.source for excerpt in found]
        wanted = f"{ORIGIN}{one['page']}"
        ranks.append(sources.index(wanted) + 1 if wanted in sources else None)
    return Figures(
        what=what,
        hit_at_1=hits(ranks, 1),
        hit_at_3=hits(ranks, 3),
        hit_at_5=hits(ranks, 5),
        mean_reciprocal_rank=statistics.mean(1 / rank if rank else 0.0 for rank in ranks),
        median_ms=statistics.median(times_ms),
    )


def hits(ranks: list[int | None], depth: int) -> float:
    return sum(rank is not None and rank <= depth for rank in ranks) / len(ranks)


def show(table: list[Figures], num_questions: int) -> None:
    heads = ("hit@1", "hit@3", "hit@5", "MRR", "ms/query")
    names = ("hit_at_1", "hit_at_3", "hit_at_5", "mean_reciprocal_rank", "median_ms")
    what = f"{num_questions} questions, {len(page_names())} pages"
    sys.stdout.write(ROW.format(what=what, **dict(zip(names, heads, strict=True))))
    for line in table:
        numbers = {name: f"{getattr(line, name):.2f}" for name in names}
        sys.stdout.write(ROW.format(what=line.what, **numbers))


def report(table: list[Figures], num_questions: int) -> dict[str, object]:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python -m benchmarks.retrieval", *sys.argv[1:]]),
        "num_questions": num_questions,
        "num_pages": len(page_names()),
        "figures": [asdict(line) for line in table],
    }


if __name__ == "__main__":
    sys.exit(main())
