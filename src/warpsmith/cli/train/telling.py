"""How a training is carried out for its user, and how it ends."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import EnvironmentMissing

if TYPE_CHECKING:
    from warpsmith.learn.engines.local.loop import Trained
    from warpsmith.learn.engines.local.stage import Stage
    from warpsmith.learn.engines.local.student import Student
    from warpsmith.learn.metrics import Metrics

SHOWN = ("loss", "value_loss", "reward", "pass_rate", "entropy", "explained_variance", "mismatch")


def carry_out(console: Console, run: Path, stage: Callable[[], "Stage"]) -> ExitCode:
    """Train, with a line a step on stderr. Raises as `engines.local.loop.train` does."""
    from warpsmith.learn.engines.local.loop import train

    with console.busy("reading the model"):
        made = stage()
    trained = train(made, run, lambda step, metrics: tell(console, made.name, step, metrics))
    draw(console, (trained.folder,), trained.folder)
    return ended(console, made.name, trained)


def tell(console: Console, stage: str, step: int, metrics: "Metrics") -> None:
    told = [f"{name} {value:.3g}" for name, value in metrics.items() if name.value in SHOWN]
    console.note(f"{stage} {step}: {', '.join(told)}")


def ended(console: Console, stage: str, trained: "Trained") -> ExitCode:
    """Say how it ended: 0 done, 1 stopped by an alarm, 130 interrupted."""
    if trained.alarm is not None:
        code = ExitCode.BUG
        console.say(f"{stage} stopped at step {trained.num_steps}: {trained.alarm.rule}")
        console.say(f"  {trained.alarm.message}; the last checkpoint is of step {trained.last_saved}")
    elif trained.is_interrupted:
        code = ExitCode.INTERRUPTED
        console.say(f"{stage} interrupted after step {trained.num_steps}; the same command goes on")
    else:
        code = ExitCode.OK
        console.say(f"{stage} done, {trained.num_steps} steps: {trained.final}")
    console.document(
        {
            "command": f"train {stage}",
            "exit_code": int(code),
            "folder": trained.folder,
            "final": trained.final,
            "num_steps": trained.num_steps,
            "alarm": trained.alarm,
            "last_saved": trained.last_saved,
        }
    )
    return code


def draw(console: Console, runs: Sequence[Path], folder: Path) -> None:
    """The curves of trainings that have taken a step, as a page and pictures; a note if nothing can draw."""
    from warpsmith.learn.curves import read_runs, write_page

    found = [run for run in read_runs(runs) if run.series] if runs else []
    if not found:
        return
    try:
        write_page(found, folder / "curves.html", folder / "curves")
    except EnvironmentMissing as error:
        console.note(f"no curves: {error}")
    else:
        console.note(f"curves: {folder / 'curves.html'}")


def read_student(model: Path) -> "Student":
    from warpsmith.learn.engines.local.student import student_of

    return student_of(model)
