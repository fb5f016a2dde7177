"""How far a rubric's judge agrees with the grades that were given by hand.

    python -m benchmarks.rubric --judge static|POLICY [--verdicts FILE] [--json FILE] [--limit N]
        [--device cpu] [--base-url URL] [--context TOKENS] [--reply-tokens 200]

POLICY is what `warpsmith optimize --model` takes: local:DIR, openai:NAME. The programs are judged first,
since a rubric looks at the verdict too; with --verdicts what was judged is kept there for the next time. Half
of the grades are for tuning rules by; the other half tells how good they are.
"""

import argparse
import datetime
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from warpsmith.core import NotRunnable, Passed, Verdict
from warpsmith.core.codec import to_data
from warpsmith.device import Device, select_device
from warpsmith.learn.rubric import AskedRubric, Dimension, Rubric, Scores, Skill, StaticRubric
from warpsmith.learn.rubric.calibration import (
    Grade,
    agreement,
    flags,
    grades,
    judged,
    key_of,
    read_verdicts,
    write_verdicts,
)
from warpsmith.policy import PolicyConfig, Sampling, make_policy
from warpsmith.redteam.runner import Bench
from warpsmith.sandbox import pick
from warpsmith.toolchain import Toolchain, default_store

ROW = "{group:22} {dimension:13} {num:>4} {exact:>6} {within_one:>7} {kappa:>6} {spearman:>9} {bias:>6}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One grade with what the judge said of the same program."""

    grade: Grade
    verdict: Verdict
    scores: Scores

    @property
    def has_passed(self) -> bool:
        return isinstance(self.verdict, Passed)


GROUPS: dict[str, Callable[[Judgement], bool]] = {
    "all": lambda _: True,
    "tuning half": lambda one: one.grade.is_for_tuning,
    "held-out half": lambda one: not one.grade.is_for_tuning,
    "held out, passed": lambda one: not one.grade.is_for_tuning and one.has_passed,
    "passed": lambda one: one.has_passed,
    "passed, scratch": lambda one: one.has_passed and one.grade.skill is Skill.SCRATCH,
    "passed, refinement": lambda one: one.has_passed and one.grade.skill is Skill.REFINEMENT,
}


def verdicts_of(chosen: Sequence[Grade], device: Device, path: Path | None) -> dict[str, Verdict]:
    """The judge's, from the file as far as it has them, and into it as soon as there are more."""
    known = read_verdicts(path) if path is not None and path.exists() else {}
    sandbox = pick()
    bench = Bench(device=device, sandbox=sandbox, toolchain=Toolchain(device, default_store(), sandbox))
    for key, verdict in judged(chosen, bench, known):
        known[key] = verdict
        sys.stdout.write(f"{key:60} {type(verdict).__name__}\n")
        sys.stdout.flush()
        if path is not None:
            write_verdicts(path, known)
    return known


def graded_again(chosen: Sequence[Grade], rubric: Rubric, verdicts: dict[str, Verdict]) -> list[Judgement]:
    """What the rubric says of each program whose verdict there is."""
    found = []
    for grade in chosen:
        had = [verdicts.get(key_of(case)) for case in grade.programs]
        if any(verdict is None or isinstance(verdict, NotRunnable) for verdict in had):
            continue
        verdict, *earlier = [verdict for verdict in had if verdict is not None]
        work = grade.work(grade.program.task_for("cpu"), verdict, earlier[0] if earlier else None)
        found.append(Judgement(grade=grade, verdict=verdict, scores=rubric.scores(work)))
    return found


def table_of(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Agreement by dimension, and the flag, in each group; neutral answers count apart and nowhere else."""
    table: dict[str, Any] = {}
    for name, is_in in GROUPS.items():
        those = [one for one in judgements if is_in(one)]
        answered = [one for one in those if not one.scores.is_neutral]
        if not answered:
            continue
        found = flags(
            [one.grade.scores.is_hack for one in answered], [one.scores.is_hack for one in answered]
        )
        table[name] = {
            "num": len(those),
            "num_neutral": len(those) - len(answered),
            "levels": {
                dimension.value: to_data(
                    agreement(
                        [one.grade.scores.levels[dimension] for one in answered],
                        [one.scores.levels[dimension] for one in answered],
                    )
                )
                for dimension in Dimension
            },
            "hack": {
                what: {"count": share.count, "num": share.num, "interval": share.interval}
                for what, share in (("precision", found.precision), ("recall", found.recall))
            },
        }
    return table


def _print(table: dict[str, Any]) -> None:
    heads = ("num", "exact", "within_one", "kappa", "spearman", "bias")
    sys.stdout.write(
        ROW.format(group="grades", dimension="dimension", **{head: head.split("_")[0] for head in heads})
    )
    for group, record in table.items():
        for dimension, one in record["levels"].items():
            told = {head: "-" if one[head] is None else f"{one[head]:.2f}" for head in heads}
            sys.stdout.write(ROW.format(group=group, dimension=dimension, **told | {"num": one["num"]}))
        hack = ", ".join(f"{what} {one['count']} of {one['num']}" for what, one in record["hack"].items())
        sys.stdout.write(f"{group:22} hack: {hack}; {record['num_neutral']} neutral\n")


def _row(one: Judgement) -> dict[str, Any]:
    return {
        "grade": one.grade.name,
        "is_for_tuning": one.grade.is_for_tuning,
        "verdict": type(one.verdict).__name__,
        "hand": {dimension.value: one.grade.scores.levels[dimension] for dimension in Dimension},
        "judge": {dimension.value: one.scores.levels[dimension] for dimension in Dimension},
        "is_hack": [one.grade.scores.is_hack, one.scores.is_hack],
        "evidence": one.scores.evidence,
        "is_neutral": one.scores.is_neutral,
        "reason": one.scores.reason,
    }


def _rubric(chosen: argparse.Namespace) -> Rubric:
    if chosen.judge == "static":
        return StaticRubric()
    config = PolicyConfig(
        base_url=chosen.base_url,
        context_tokens=chosen.context,
        sampling=Sampling(temperature=0.0, max_tokens=chosen.reply_tokens, seed=1),
    )
    policy = make_policy(chosen.judge, config)  # read once; each question is a conversation of its own
    return AskedRubric(lambda: policy)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", default="static")
    parser.add_argument("--verdicts", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--limit", type=int, help="so many grades, evenly over all of them")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--base-url")
    parser.add_argument("--context", type=int)
    parser.add_argument("--reply-tokens", type=int, default=200)
    return parser.parse_args()


def main() -> None:
    chosen = _arguments()
    found = grades()
    if chosen.limit:
        found = tuple(found[place * len(found) // chosen.limit] for place in range(chosen.limit))
    device = select_device(chosen.device)
    verdicts = verdicts_of(found, device, chosen.verdicts)
    begun_s = time.monotonic()
    judgements = graded_again(found, _rubric(chosen), verdicts)
    table = table_of(judgements)
    _print(table)
    if chosen.json:
        record = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": " ".join(["python -m benchmarks.rubric", *sys.argv[1:]]),
            "versions": {"python": platform.python_version(), "warpsmith": version("warpsmith")},
            "device": device.name,
            "judge": chosen.judge,
            "num_grades": len(found),
            "num_without_verdict": len(found) - len(judgements),
            "seconds_of_the_judge": round(time.monotonic() - begun_s, 1),
            "agreement": table,
            "grades": [_row(one) for one in judgements],
        }
        chosen.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
