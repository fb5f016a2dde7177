"""What others have published on KernelBench, as printed there, and how their figures came about."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """How a set of figures came about."""

    name: str
    source: str
    gpu: str
    tasks: str
    sizes: str
    tolerance: str
    faster: str  # how its shares of faster programs are counted
    margin: str  # the same, in a table's cell; empty if it may be ours
    mean: str  # of speed-ups
    timing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One line of its table; shares are of all its tasks. None: not published."""

    study: Study
    system: str
    group: str  # as ours: "level 1", "overall"
    num_tasks: int
    passed: float
    faster_eager: float | None = None
    faster_compile: float | None = None
    times_eager: float | None = None
    times_compile: float | None = None


CUDA_AGENT = Study(
    name="CUDA Agent",
    source="arXiv 2602.24286, table 1",
    gpu="not named (its pool: H20)",
    tasks="KernelBench, 100 + 100 + 50",
    sizes="KernelBench's, version not named",
    tolerance="atol = rtol = 1e-2, 5 inputs",
    faster="not defined beside the table; its reward asks for more than 5 % of the baseline's time",
    margin="",
    mean="geometric, over correct programs",
    timing="sum of device time by torch.profiler, 10 runs of one input, warm cache; a run's best program",
)
STITCH = Study(
    name="StitchCUDA",
    source="arXiv 2603.02637, main results",
    gpu="H200, and RTX PRO 6000",
    tasks="KernelBench, a test set of 20 + 20 + 10; degenerate tasks were repaired by hand",
    sizes="KernelBench's, version not named",
    tolerance="1e-3 in its released reward, 5 inputs",
    faster="Fast_1: more than 1 times eager's speed, without a margin",
    margin=" (> 1×)",
    mean="mean, kind not named",
    timing="end to end, 20 runs by CUDA events in its released reward; the best of 15 rounds",
)
Figures = tuple[str, int, float, float | None, float | None, float | None, float | None]
"""Group, tasks, shares in percent (passed, faster than eager and compile), times faster than each."""

TABLE: tuple[tuple[Study, str, tuple[Figures, ...]], ...] = (
    (
        CUDA_AGENT,
        "CUDA Agent",
        (
            ("level 1", 100, 100, 99, 97, 2.48, 1.87),
            ("level 2", 100, 100, 100, 100, 3.27, 2.80),
            ("level 3", 50, 94, 94, 90, 1.80, 1.52),
            ("overall", 250, 98.8, 98.4, 96.8, 2.60, 2.11),
        ),
    ),
    (
        CUDA_AGENT,
        "Opus 4.5, in its loop",
        (
            ("level 1", 100, 96, 88, 72, 2.03, 1.54),
            ("level 2", 100, 98, 97, 69, 2.24, 1.60),
            ("level 3", 50, 88, 82, 50, 1.52, 1.10),
            ("overall", 250, 95.2, 90.4, 66.4, 1.99, 1.46),
        ),
    ),
    (
        STITCH,
        "StitchCUDA, H200",
        (
            ("level 1", 20, 90, 55, None, 3.54, None),
            ("level 2", 20, 90, 85, None, 1.82, None),
            ("level 3", 10, 90, 70, None, 1.50, 1.29),
        ),
    ),
    (
        STITCH,
        "StitchCUDA, PRO 6000",
        (
            ("level 1", 20, 90, 35, None, 2.86, None),
            ("level 2", 20, 95, 85, None, 1.55, None),
            ("level 3", 10, 100, 70, None, 1.27, None),
        ),
    ),
)

PUBLISHED = tuple(
    Published(
        study=study,
        system=system,
        group=group,
        num_tasks=num_tasks,
        passed=passed / 100,
        faster_eager=None if eager is None else eager / 100,
        faster_compile=None if compiled is None else compiled / 100,
        times_eager=times_eager,
        times_compile=times_compile,
    )
    for study, system, lines in TABLE
    for group, num_tasks, passed, eager, compiled, times_eager, times_compile in lines
)
LEVELS = ("level 1", "level 2", "level 3")


def beside(groups: Sequence[str], group: str) -> tuple[Published, ...]:
    """What was published on `group`; on all together only beside a bench of the same three levels."""
    if group not in LEVELS and tuple(sorted(set(groups))) != LEVELS:
        return ()
    return tuple(line for line in PUBLISHED if line.group == group)


def studies(lines: Sequence[Published]) -> tuple[Study, ...]:
    """Each once, in their order."""
    return tuple({line.study.source: line.study for line in lines}.values())
