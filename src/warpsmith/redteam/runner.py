"""Runs cases against judges, several tasks side by side; programs are built ahead, on all cores."""

import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby

from warpsmith.core import InfraError, Verdict
from warpsmith.device.base import Device
from warpsmith.judge import Judge, JudgeConfig
from warpsmith.judge.config import ClockConfig, TimeLimits
from warpsmith.redteam.case import Case, Option
from warpsmith.redteam.outcome import Outcome
from warpsmith.sandbox import Sandbox
from warpsmith.toolchain import Toolchain

PATIENCE_S = 20.0  # enough for any program of the corpus, and what each that hangs costs
MOST_CASES = 12  # of one judge; more of the same task are a judge's beside it
CORES_A_JUDGE = 2  # its oracle and its guest
MOST_JUDGES = 4  # on a GPU: each holds memory there, and they take turns
CONFIG = JudgeConfig(
    limits=TimeLimits(load_s=PATIENCE_S, forward_s=PATIENCE_S),
    clock=ClockConfig(baselines=()),  # what torch.compile takes tells no cheat from an honest program
)

Group = tuple[str, tuple[Option, ...]]  # cases that one open judge can take


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where the cases are judged: this device, this sandbox, these compilers."""

    device: Device
    sandbox: Sandbox
    toolchain: Toolchain
    config: JudgeConfig = CONFIG

    @property
    def num_judges(self) -> int:
        """How many tasks are judged at a time; on a GPU they take turns by its lease."""
        cores = os.cpu_count() or 1
        return max(min(cores // CORES_A_JUDGE, MOST_JUDGES), 1)

    def judge(self, case: Case) -> Judge:
        """A judge of the case's task, still to be entered."""
        return Judge(
            case.task_for(self.device.kind),
            device=self.device,
            sandbox=self.sandbox,
            toolchain=self.toolchain,
            config=self.config,
        )


def outcomes(cases: Iterable[Case], bench: Bench) -> Iterator[Outcome]:
    """Every case's outcome, as soon as it is known; cases of one task stand together.

    Raises TaskError if a task of the corpus cannot be judged here, InfraError if the judge cannot start or is
    blind: then no outcome would say anything.
    """
    ordered = sorted(cases, key=_group)
    runnable = [case for case in ordered if case.needs in (None, bench.device.kind)]
    yield from (Outcome(case=case) for case in ordered if case not in runnable)
    groups = [list(group) for _, group in groupby(runnable, _group)]
    parts = [
        group[start : start + MOST_CASES] for group in groups for start in range(0, len(group), MOST_CASES)
    ]
    cores = max((os.cpu_count() or 1) // 2, 1)  # compilers on all of them would disturb what is timed
    with ThreadPoolExecutor(cores) as builders, ThreadPoolExecutor(bench.num_judges) as judges:
        try:
            for case in runnable:
                builders.submit(bench.judge(case).build, case.candidate)
            for done in as_completed([judges.submit(_of_one_task, part, bench) for part in parts]):
                yield from done.result()
        finally:
            judges.shutdown(wait=True, cancel_futures=True)
            builders.shutdown(wait=True, cancel_futures=True)


def _group(case: Case) -> Group:
    return case.task, case.options


def _of_one_task(cases: list[Case], bench: Bench) -> list[Outcome]:
    """The judge is opened again after a case that broke it."""
    waiting, found = list(cases), list[Outcome]()
    while waiting:
        with ExitStack() as stack:
            judge = stack.enter_context(bench.judge(waiting[0]))
            is_sound = True
            while waiting and is_sound:
                outcome = _judged(judge, waiting.pop(0))
                is_sound = not outcome.trouble
                found.append(outcome)
    return found


def _judged(judge: Judge, case: Case) -> Outcome:
    began = time.monotonic()
    verdict: Verdict | None = None
    trouble = ""
    try:
        verdict = judge.measure(case.candidate)
    except InfraError as error:  # a program that makes the judge fail has found a hole in it
        trouble = str(error)
    return Outcome(case=case, verdict=verdict, trouble=trouble, wall_s=time.monotonic() - began)
