"""The red team's outcomes: a table for the terminal, one by family for the README, and a summary."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from warpsmith.core import UsageError
from warpsmith.redteam import Kind, Outcome, State
from warpsmith.redteam.outcome import AS_EXPECTED
from warpsmith.report import markdown
from warpsmith.report.figures import NOTHING, seconds_text
from warpsmith.report.plain import one_line, printable
from warpsmith.report.verdicts import evidence_text, verdict_text

BEGIN = "<!-- redteam: begin -->"
END = "<!-- redteam: end -->"
FOLDER = "src/warpsmith/redteam/corpus"  # of the repository, for links

# A case's family is the first word of its name.
FAMILIES: dict[str, str] = {
    "memory": "stale, unwritten and foreign memory",
    "inputs": "writes to its inputs, or returns them",
    "structure": "an answer of another shape, type or kind",
    "values": "an answer that is nearly right, or only at first sight",
    "precision": "coarser arithmetic than the task's",
    "cache": "an answer kept from another call",
    "program": "not its own kernels do the work",
    "clock": "the clock is evaded or forged",
    "channel": "forged results, the judge's files and processes",
    "resources": "floods, bombs, loops and what is left behind",
    "build": "attacks while it is compiled, and code hidden from readers",
    "flags": "torch's settings for the whole process",
    "train": "only what is compared in eval mode is right",
    "backward": "only the forward pass is right",
    "state": "other weights than the reference's",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over all outcomes. A case counts once a run."""

    num_cheats: int  # runnable here
    num_caught: int
    num_honest: int  # runnable here
    num_refused: int
    num_not_runnable: int
    num_unexpected: int  # whatever is not as it should be

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Summary":
        ran = [outcome for outcome in outcomes if outcome.state is not State.NOT_RUNNABLE]
        cheats = [outcome for outcome in ran if outcome.case.kind is Kind.CHEAT]
        honest = [outcome for outcome in ran if outcome.case.kind is Kind.HONEST]
        return cls(
            num_cheats=len(cheats),
            num_caught=sum(outcome.state is State.CAUGHT for outcome in cheats),
            num_honest=len(honest),
            num_refused=sum(outcome.state is not State.PASSED for outcome in honest),
            num_not_runnable=len(outcomes) - len(ran),
            num_unexpected=sum(not outcome.is_as_expected for outcome in outcomes),
        )

    @property
    def text(self) -> str:
        return (
            f"cheats caught {self.num_caught}/{self.num_cheats}, "
            f"honest refused {self.num_refused}/{self.num_honest}, "
            f"not runnable here {self.num_not_runnable}"
        )


def outcomes_table(outcomes: Iterable[Outcome]) -> Table:
    """A line a case, what is not as it should be last and in red."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("case", "what it tries", "outcome", "verdict", "took"):
        table.add_column(heading, overflow="fold")
    for outcome in sorted(outcomes, key=lambda outcome: (not outcome.is_as_expected, outcome.case.name)):
        style = "" if outcome.is_as_expected else "red"
        took = seconds_text(outcome.wall_s) if outcome.wall_s else NOTHING
        cells = (outcome.case.name, outcome.case.title, state_text(outcome), said(outcome), took)
        table.add_row(*(Text(printable(cell), style=style) for cell in cells))
    return table


def state_text(outcome: Outcome) -> str:
    """'caught by numbers', 'passes', 'not runnable here', 'CAUGHT ELSEWHERE by load'."""
    is_by = outcome.state in (State.CAUGHT, State.ELSEWHERE, State.REFUSED)
    return f"{outcome.state.value} by {outcome.gate}" if is_by else outcome.state.value


def said(outcome: Outcome) -> str:
    """The verdict in a phrase."""
    if outcome.trouble:
        return one_line(outcome.trouble, 80)
    return NOTHING if outcome.verdict is None else verdict_text(outcome.verdict)


def evidence(outcome: Outcome) -> str:
    """All that is known about it, for whoever must find out why it is not as expected."""
    expected = ", ".join(outcome.case.caught_by) or "nothing: it is honest"
    verdict = "" if outcome.verdict is None else evidence_text(outcome.verdict)
    return printable(
        f"{outcome.case.name}: {state_text(outcome)}; expected: {expected}\n{verdict}{outcome.trouble}"
    )


def family_table(outcomes: Sequence[Outcome], where: str) -> str:
    """The README's: what the families of cheats try, how many there are, and which gates caught them."""
    cheats = [outcome for outcome in outcomes if outcome.case.kind is Kind.CHEAT]
    families = sorted({family(outcome) for outcome in cheats}, key=_order)
    rows = [_family_row(name, [o for o in cheats if family(o) == name]) for name in families]
    honest = [outcome for outcome in outcomes if outcome.case.kind is Kind.HONEST]
    ran = [outcome for outcome in honest if outcome.state is not State.NOT_RUNNABLE]
    num_passed = sum(outcome.state is State.PASSED for outcome in ran)
    rows.append((f"[honest programs]({FOLDER}/honest)", f"{num_passed}/{len(ran)} pass", NOTHING))
    text = markdown.table(("what they try", "caught", "by"), rows)
    return f"{text}\n\n{markdown.escaped(f'{Summary.of(outcomes).text} ({where})')}"


def family(outcome: Outcome) -> str:
    """The first word of the case's name."""
    return outcome.case.name.partition("-")[0]


def replace_table(text: str, table: str) -> str:
    """`text` with `table` between its two marker comments. Raises UsageError if it hasn't both, once."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise UsageError(f"there must be one line {BEGIN} and below it one line {END}, for the table between")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"


def outcome_data(outcome: Outcome) -> dict[str, object]:
    """What --json says of a case."""
    return {
        "case": outcome.case.name,
        "kind": outcome.case.kind,
        "title": outcome.case.title,
        "caught_by": outcome.case.caught_by,
        "state": outcome.state,
        "is_as_expected": outcome.state in AS_EXPECTED,
        "gate": outcome.gate,
        "wall_s": outcome.wall_s,
        "trouble": outcome.trouble,
        "verdict": outcome.verdict,
    }


def _family_row(name: str, outcomes: list[Outcome]) -> tuple[str, str, str]:
    ran = [outcome for outcome in outcomes if outcome.state is not State.NOT_RUNNABLE]
    gates = Counter(outcome.gate for outcome in ran if outcome.state is State.CAUGHT)
    by = ", ".join(f"{gate} {count}" for gate, count in gates.most_common())
    caught = f"{sum(gates.values())}/{len(ran)}"
    num_elsewhere = len(outcomes) - len(ran)
    what = f"[{name}]({FOLDER}/cheats): {FAMILIES.get(name, name)}"
    return what, f"{caught}, {num_elsewhere} not runnable here" if num_elsewhere else caught, by or NOTHING


def _order(name: str) -> tuple[int, str]:
    names = list(FAMILIES)
    return (names.index(name) if name in names else len(names), name)
